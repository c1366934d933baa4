// Code cells that run in the page. No other host is asked for anything before the first click on "Run": then a worker
// fetches Python, NumPy and Matplotlib (Pyodide) from its CDN. The book's package and its saved results come with the
// book (live_files.js, packed by live.py), and live_session.py runs a cell. The cells above the one that is run go
// first, unless they have already run as they stand.
(() => {
  "use strict";
  const CDN = "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/";
  const FILES = new URL("live_files.js", document.currentScript.src).href;
  const OFFLINE =
    `Python could not be fetched from ${new URL(CDN).host}: is this machine online? The outputs of the book stay as they are. ` +
    'Press Run to try again, or work without the network: "make lab" opens this chapter as a notebook.';

  // The worker. It is started from this text, since a page that is read from disk may not start one from a file.
  function inWorker() {
    let python, run;
    const say = (kind, text) => postMessage({ kind, text });
    const start = async ({ cdn, files }) => {
      say("progress", "Loading Python, once: about 25 MB");
      importScripts(cdn + "pyodide.js");
      python = await loadPyodide({ indexURL: cdn });
      say("progress", "Loading NumPy and Matplotlib");
      const failed = [];
      await python.loadPackage(["numpy", "matplotlib"], { messageCallback() {}, errorCallback: (text) => failed.push(text) });
      if (failed.length) throw new Error(failed.join("\n"));
      say("progress", "Setting up the book's package");
      python.unpackArchive(Uint8Array.from(atob(files), (letter) => letter.charCodeAt(0)), "zip", { extractDir: "/book" });
      python.runPython("import os, sys; sys.path.insert(0, '/book'); os.chdir('/book/chapters')");
      python.runPython("import matplotlib; matplotlib.use('agg'); import matplotlib.font_manager");
      run = python.pyimport("live_session").run;
    };
    onmessage = async ({ data }) => {
      try {
        if (data.cdn) await start(data);
        say("done", data.cdn ? true : run(data.code, say, python.globals, data.name));
      } catch (error) {
        say("lost", String(error.message ?? error)); // no error of a cell: those are told in words
      }
    };
  }

  const make = (tag, className, rest) => Object.assign(document.createElement(tag), { className, ...rest });
  const plainLines = (pre) => (pre.querySelectorAll("br").forEach((line) => line.replaceWith("\n")), pre); // typed ones
  const codeOf = (cell) => plainLines(cell.pre.cloneNode(true)).textContent.trimEnd();
  const isEdited = (cell) => codeOf(cell) !== cell.text;
  const cells = [...document.querySelectorAll(".bd-article .cell .cell_input")].map(equip);
  let worker = null, answer = null, queue = Promise.resolve(), round = 0;

  function equip(input, position) {
    const cell = { pre: input.querySelector("pre"), name: `cell ${position + 1}`, ran: null };
    const whole = input.closest(".cell");
    const button = (name, text, title) => (cell[name] = make("button", `live-${name}`, { type: "button", textContent: text, title }));
    cell.html = cell.pre.innerHTML;
    cell.text = codeOf(cell);
    cell.place = whole.id ||= `live-cell-${position + 1}`;
    cell.book = whole.querySelectorAll(":scope > .cell_output");
    cell.bar = make("div", "live-bar");
    cell.status = make("span", "live-status", { role: "status" });
    cell.clock = make("span", "live-clock", { ariaHidden: "true" });
    cell.output = make("div", "cell_output live-output", { hidden: true });
    cell.bar.append(
      button("run", "Run", "Run this cell here, in the page"),
      button("stop", "Stop", "Stop Python; the next Run starts it afresh"),
      button("undo", "Restore", "Bring back the book's code and output"),
      cell.status, cell.clock,
    );
    cell.stop.hidden = cell.undo.hidden = true;
    cell.run.setAttribute("aria-label", `Run ${cell.name}`);
    cell.run.onclick = () => enqueue(cell);
    cell.stop.onclick = () => end("Stopped. The next Run starts Python afresh.", cell);
    cell.undo.onclick = () => undo(cell);
    cell.pre.addEventListener("input", () => (cell.undo.hidden = !isEdited(cell) && cell.output.hidden));
    cell.pre.addEventListener("blur", () => plainLines(cell.pre)); // the copy button knows no other
    cell.pre.addEventListener("keydown", (event) => typed(event, cell));
    input.after(cell.bar);
    whole.append(cell.output);
    return cell;
  }

  function allowEditing() {
    for (const cell of cells) {
      cell.pre.setAttribute("contenteditable", "plaintext-only");
      if (!cell.pre.isContentEditable) cell.pre.setAttribute("contenteditable", "true"); // an older browser
      const about = { role: "textbox", "aria-multiline": true, "aria-label": `Code of ${cell.name}`, spellcheck: false, autocapitalize: "off" };
      Object.entries(about).forEach(([name, value]) => cell.pre.setAttribute(name, value));
    }
  }

  function typed(event, cell) {
    if (cell.pre.isContentEditable) event.stopPropagation(); // "/" and arrows are the page's keys, outside of code
    if (event.key === "Escape") cell.run.focus(); // and Tab leaves the code too: nobody is caught in it
    if (event.key !== "Enter" || !(event.shiftKey || event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    enqueue(cell);
  }

  function undo(cell) {
    cell.pre.innerHTML = cell.html;
    cell.output.hidden = cell.undo.hidden = true;
    cell.book.forEach((output) => (output.hidden = false));
    cell.status.textContent = "";
    cell.run.focus();
  }

  function enqueue(cell) {
    const mine = round;
    cell.status.textContent = answer ? "Waiting for another cell" : "";
    const go = () => (mine === round ? runUpTo(cell) : (cell.status.textContent = ""));
    queue = queue.then(go).catch((error) => mine === round && end(error.message, cell));
  }

  async function runUpTo(cell) {
    const since = performance.now(), seconds = () => Math.round((performance.now() - since) / 1000);
    const ticking = setInterval(() => {
      cell.clock.textContent = `${seconds()} s`;
      if (seconds() === 30) cell.status.textContent += " (a page computes several times slower than a notebook)";
    }, 1000);
    cell.stop.hidden = false;
    try {
      if (!worker) await start(cell);
      const upTo = cells.slice(0, cells.indexOf(cell) + 1);
      const stale = upTo.findIndex((one) => one.ran !== codeOf(one));
      for (const one of stale < 0 ? [cell] : upTo.slice(stale)) {
        cell.status.textContent = one === cell ? "Running" : `Running ${one.name} first, of ${cells.indexOf(cell)} above`;
        if (!(await runOne(one, one === cell))) {
          one.status.textContent = "Stopped by an error";
          if (one !== cell) cell.status.replaceChildren(make("a", "", { href: `#${one.place}`, textContent: one.name }), " above stopped with an error");
          return;
        }
      }
      cell.status.textContent = `Done${seconds() ? ` in ${seconds()} s` : ""}. Code can be edited; Shift+Enter in it runs it.`;
    } finally {
      clearInterval(ticking);
      cell.clock.textContent = "";
      cell.stop.hidden = true;
    }
  }

  async function start(cell) {
    allowEditing();
    const source = new Blob([`(${inWorker})()`], { type: "text/javascript" });
    worker = new Worker(URL.createObjectURL(source));
    worker.onmessage = ({ data }) => hear(data, cell);
    await new Promise((resolve, reject) => {
      if (window.liveFiles) return resolve();
      document.head.append(make("script", "", { src: FILES, onload: resolve, onerror: () => reject(new Error(OFFLINE)) }));
    });
    await ask({ cdn: CDN, files: window.liveFiles }).catch((error) => { throw new Error(`${OFFLINE} (${error.message})`); });
  }

  async function runOne(cell, isShown) {
    const code = codeOf(cell), wasRun = cell.ran;
    const target = isShown ? present(cell) : make("div"); // what runs first keeps the book's output in view
    const ok = await ask({ code, name: `<${cell.name}>` }, (kind, text) => append(target, kind, text, cell)).catch((error) => {
      throw new Error(`Python has stopped (${error.message}). The next Run starts it afresh.`);
    });
    if (wasRun !== null && wasRun !== code) cells.slice(cells.indexOf(cell)).forEach((one) => (one.ran = null));
    cell.ran = ok ? code : null;
    if (!isShown && (!ok || isEdited(cell) || !cell.output.hidden)) present(cell).append(...target.childNodes);
    if (typeof play === "object") play.start(); // a figure with knobs, drawn anew (figures/kit.js)
    return ok;
  }

  // Put an empty output in the place of what stands under a cell.
  function present(cell) {
    cell.book.forEach((output) => (output.hidden = true));
    cell.output.replaceChildren();
    cell.output.hidden = cell.undo.hidden = false;
    return cell.output;
  }

  function append(target, kind, text, cell) {
    if (kind === "svg") {
      const alt = !isEdited(cell) && [...cell.book].flatMap((output) => [...output.querySelectorAll("img")])[0]?.alt;
      const src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
      target.append(make("img", "live-figure dark-light", { src, alt: alt || `Figure that ${cell.name} draws` }));
    } else if (kind === "html") {
      target.append(make("div", "live-html", { innerHTML: text }));
    } else {
      const last = target.lastElementChild;
      const more = kind === "text" && last?.classList.contains("live-text");
      if (more) last.textContent += text;
      else target.append(make("pre", `live-${kind}`, { textContent: text }));
    }
  }

  // One question to the worker at a time; an answer may be preceded by what the cell prints and shows.
  function ask(question, emit = () => {}) {
    return new Promise((resolve, reject) => {
      answer = { resolve, reject, emit };
      worker.postMessage(question);
    });
  }

  function hear({ kind, text }, starter) {
    if (kind === "progress") return (starter.status.textContent = text);
    if (kind !== "done" && kind !== "lost") return answer.emit(kind, text);
    const { resolve, reject } = answer;
    answer = null;
    return kind === "done" ? resolve(text) : reject(new Error(text));
  }

  // Give Python up, whatever it is doing, and say why.
  function end(message, cell) {
    worker?.terminate();
    worker = null;
    round += 1;
    cells.forEach((one) => (one.ran = null));
    answer?.reject(new Error(message));
    answer = null;
    cell.status.textContent = message;
  }
})();
