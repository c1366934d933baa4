// Teaches Jupyter Book 2 the role {glue:text}`name` (and {glue:text}`name:.2f`): a number that a
// cell kept with `glue` is put into the sentence. The cell's output carries the name in its metadata,
// and the data under a prefixed type.

const role = {
  name: "glue:text",
  body: { type: String, required: true },
  run: ({ body }) => {
    const [key, spec] = body.split(/:(.*)/s);
    return [{ type: "glue", key, spec }];
  },
};

const fixed = (text, spec) => {
  const digits = /^\.(\d+)f$/.exec(spec ?? "");
  return digits ? Number(text).toFixed(Number(digits[1])) : text;
};

const paste = {
  name: "glue",
  stage: "document",
  plugin: (_, utils) => (tree, file) => {
    const kept = {};
    for (const { jupyter_data: output } of utils.selectAll("output", tree)) {
      const { name, mime_prefix: prefix } = output?.metadata?.scrapbook ?? {};
      if (name) kept[name] = [output.data[`${prefix}text/plain`]].flat().join("");
    }
    for (const node of utils.selectAll("glue", tree)) {
      if (!(node.key in kept)) file.message(`no cell glues "${node.key}"`, node).fatal = true;
      const value = (kept[node.key] ?? "?").replace(/^'(.*)'$/s, "$1");
      Object.assign(node, { type: "text", value: fixed(value, node.spec) });
    }
  },
};

export default { name: "glue", roles: [role], transforms: [paste] };
