// What the interactive figures share: they find their numbers, get knobs, and say in words what they show.
//
// A page holds <div class="play" data-figure="KIND"> with a still and a block of JSON (mhc_np/lab/interactive.py).
// A script registers its kind with play.figure(KIND, make). On the page make(box, data) builds panels and knobs and
// draws. If it fails, the still stays. Nothing is loaded, and nothing moves before it is asked to.
"use strict";

const play = (() => {
  const makers = {};
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  /** Make an element: tag, attributes, then text or children. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** Register what draws a kind of figure: make(box, data). */
  function figure(kind, make) {
    makers[kind] = make;
  }

  /** Draw all figures of the page. */
  function start() {
    for (const whole of document.querySelectorAll(".play[data-figure]")) {
      const make = makers[whole.dataset.figure];
      if (!make || whole.classList.contains("is-live")) continue;
      const box = element("div", { class: "play-live" });
      try {
        make(box, JSON.parse(whole.querySelector('script[type="application/json"]').textContent));
      } catch (error) {
        console.error(`${whole.id}: ${error}`); // the others are drawn all the same
        continue;
      }
      whole.prepend(box);
      whole.classList.add("is-live"); // from here on the style hides the still
    }
  }

  /** A slider over whole numbers, or over the places of a list. With `pace` (milliseconds) it gets a button to play. */
  function slider(name, knob, changed) {
    const last = knob.values ? knob.values.length - 1 : knob.max;
    const first = knob.values ? 0 : knob.min;
    const range = element("input", { type: "range", min: first, max: last, step: 1, name, "aria-label": knob.label });
    const shown = element("output");
    const line = element("div", { class: "play-knob" }, element("span", { class: "play-name" }, knob.label), range, shown);
    const value = () => (knob.values ? knob.values[+range.value] : +range.value);
    const show = () => {
      const words = knob.words ? knob.words(value()) : String(value());
      shown.textContent = words;
      range.setAttribute("aria-valuetext", words);
    };
    range.value = knob.values ? Math.max(0, knob.values.indexOf(knob.start)) : knob.start;
    range.addEventListener("input", () => (show(), changed()));
    show();
    const set = (wanted) => {
      range.value = knob.values ? knob.values.indexOf(wanted) : wanted;
      show();
    };
    if (knob.pace) line.insertBefore(player(range, knob, () => (show(), changed())), range);
    return { line, value, set, parts: [range] };
  }

  /** A button that walks a slider to its end. While it walks, screen readers are not told every step. */
  function player(range, knob, changed) {
    const button = element("button", { type: "button", class: "play-button", "aria-label": `Play: ${knob.label}` }, "▶");
    let timer = null;
    const live = () => button.closest(".play-live").querySelector(".play-words");
    const stop = () => {
      clearInterval(timer);
      timer = null;
      button.textContent = "▶";
      button.setAttribute("aria-label", `Play: ${knob.label}`);
      live().setAttribute("aria-live", "polite");
    };
    button.addEventListener("click", () => {
      if (timer) return stop();
      if (+range.value >= +range.max) range.value = range.min;
      else range.value = +range.value + 1;
      changed();
      button.textContent = "❚❚";
      button.setAttribute("aria-label", `Stop: ${knob.label}`);
      live().setAttribute("aria-live", "off");
      timer = setInterval(() => {
        range.value = +range.value + 1;
        if (+range.value >= +range.max) stop();
        changed();
      }, calm() ? Math.max(900, knob.pace) : knob.pace);
    });
    range.addEventListener("input", () => timer && stop());
    return button;
  }

  /** A few options side by side, or a list to unfold when there are more than `knob.most` (4). */
  function choice(name, knob, changed, id) {
    const options = Object.entries(knob.options);
    if (options.length > (knob.most ?? 4)) {
      const list = element("select", { name, "aria-label": knob.label });
      for (const [key, words] of options) list.append(element("option", { value: key }, words));
      list.value = knob.start;
      list.addEventListener("change", changed);
      const line = element("div", { class: "play-knob" }, element("span", { class: "play-name" }, knob.label), list);
      return { line, value: () => list.value, set: (key) => (list.value = key), parts: [list] };
    }
    const buttons = options.map(([key]) => element("input", { type: "radio", name: `${id}-${name}`, value: key }));
    const labels = options.map(([, words], k) => element("label", {}, buttons[k], element("span", {}, words)));
    const set = (key) => buttons.forEach((button) => (button.checked = button.value === key));
    buttons.forEach((button) => button.addEventListener("change", changed));
    set(knob.start);
    const group = element("span", { class: "play-options" }, ...labels);
    const line = element("div", { class: "play-knob", role: "radiogroup", "aria-label": knob.label },
      element("span", { class: "play-name" }, knob.label), group);
    return { line, value: () => buttons.find((button) => button.checked).value, set, parts: buttons };
  }

  let count = 0;
  /**
   * Give a figure its knobs: {name: {label, values | min, max | options, start, words, pace}}. Whenever one is turned,
   * draw({name: value}) is called; what it returns is the sentence below the figure.
   */
  function knobs(box, wanted, draw) {
    const id = `play-${count++}`;
    const made = {};
    const words = element("p", { class: "play-words", role: "status", "aria-live": "polite" });
    const read = () => Object.fromEntries(Object.entries(made).map(([name, knob]) => [name, knob.value()]));
    const redraw = () => (words.innerHTML = draw(read(), made));
    const panel = element("div", { class: "play-knobs" });
    for (const [name, knob] of Object.entries(wanted)) {
      made[name] = knob.options ? choice(name, knob, redraw, id) : slider(name, knob, redraw);
      made[name].enable = (on) => {
        made[name].parts.forEach((part) => (part.disabled = !on));
        made[name].line.classList.toggle("is-off", !on);
        made[name].line.setAttribute("aria-disabled", String(!on));
      };
      panel.append(made[name].line);
    }
    box.append(panel, words);
    redraw();
  }

  if (typeof document === "object") {
    document.addEventListener("DOMContentLoaded", start); // deferred scripts have all run by then
  }
  return { element, figure, knobs, start };
})();
