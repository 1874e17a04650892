// Makes the cells of a notebook's page run: Python comes from this site and works in the browser.
import { colour } from "./colours.js";
import { Python, contents } from "./python.js";

const make = (tag, properties, ...inside) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
};

/** The text of a piece of a page; a browser may write a new line as an element. */
function plain(piece) {
  for (const line of piece.querySelectorAll("br")) line.replaceWith("\n");
  return piece.textContent;
}

class Cell {
  constructor(element, number, book) {
    Object.assign(this, { element, number, book, state: "stored", outputs: [] });
    this.input = element.querySelector(".cell_input");
    this.code = this.input.querySelector("pre");
    this.stored = this.source;
    this.output = element.querySelector(".cell_output");
    if (!this.output) {
      this.output = make("div", { className: "cell_output docutils container", hidden: true });
      element.append(this.output);
    }
    this.output.setAttribute("aria-live", "polite");
    this.button = make("button", { type: "button", textContent: "Run", className: "course-run" });
    this.button.title = "Run this cell, after all cells above that have not run (Shift+Enter)";
    this.button.onclick = () => book.runUpTo(this);
    this.input.append(this.button);
    this.code.contentEditable = "plaintext-only";
    if (this.code.contentEditable !== "plaintext-only") this.code.contentEditable = "true";
    Object.assign(this.code, { spellcheck: false, autocapitalize: "off", role: "textbox" });
    this.code.setAttribute("aria-multiline", "true");
    this.code.setAttribute("aria-label", `Code of cell ${number}`);
    this.code.onkeydown = (event) => this.key(event);
    this.code.oninput = () => this.show("edited");
    this.code.onblur = () => colour(this.code, this.source);
    this.show("stored");
  }

  get source() {
    return plain(this.code.cloneNode(true)).replace(/\n$/, "");
  }

  /** Enter indents; Shift+Enter and Ctrl+Enter run.  Tab moves on, as everywhere on a page. */
  key(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (event.shiftKey || event.ctrlKey || event.metaKey) {
      this.book.runUpTo(this);
      return;
    }
    const range = getSelection().getRangeAt(0).cloneRange();
    range.setStart(this.code, 0);
    const line = plain(range.cloneContents()).split("\n").pop();
    const indent = line.match(/^ */)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
    document.execCommand("insertText", false, "\n" + indent);
  }

  show(state) {
    this.state = this.element.dataset.state = state;
    this.book.changed?.();
  }

  async run() {
    this.show("running");
    this.outputs = [];
    let text = null;
    const parts = [];
    const show = (kind, value) => {
      if (!parts.length) this.output.replaceChildren();
      this.output.hidden = false;
      if (kind === "figure") {
        text = null;
        const [svg, words, sliders] = value;
        this.outputs.push({ svg, words });
        parts.push(figure(svg, words, sliders, this.book));
        this.output.append(parts.at(-1));
        return;
      }
      if (kind === "error" || text === null) {
        text = make("pre");
        const name = kind === "error" ? "output traceback" : "output stream";
        parts.push(make("div", { className: name }, make("div", { className: "highlight" }, text)));
        this.output.append(parts.at(-1));
        this.outputs.push({ text: "" });
      }
      text.append(value);
      this.outputs.at(-1).text += value;
    };
    const failed = await this.book.python.call("run", [this.source, this.number], show);
    if (!parts.length) this.output.replaceChildren();
    this.output.hidden = !parts.length;
    this.show(failed ? "error" : "done");
    return !failed;
  }
}

/** A picture; with sliders it shows their middle values, and is drawn anew when one moves. */
function figure(svg, words, sliders, book) {
  const picture = make("img", { alt: words, className: "course-figure" });
  const draw = (text) => (picture.src = "data:image/svg+xml," + encodeURIComponent(text));
  draw(svg);
  if (!sliders) return picture;
  const [number, controls] = sliders;
  const box = make("div", { className: "course-sliders" });
  const inputs = controls.map(([name, values]) => {
    const input = make("input", { type: "range", min: 0, max: values.length - 1 });
    input.value = Math.floor(values.length / 2);
    const value = make("output");
    const said = () => (value.textContent = input.ariaValueText = values[input.value]);
    input.addEventListener("input", said);
    said();
    box.append(make("label", {}, make("span", { textContent: name }), input, value));
    return input;
  });
  let wanted = false;
  let drawing = false;
  const redraw = async () => {
    wanted = true;
    if (drawing) return;
    drawing = true;
    while (wanted) {
      wanted = false;
      const places = inputs.map((input) => Number(input.value));
      draw(await book.python.call("redraw", [number, places]));
    }
    drawing = false;
  };
  for (const input of inputs) input.addEventListener("input", redraw);
  redraw();
  box.append(picture);
  return box;
}

class Book {
  constructor({ version, megabytes, archives, libraries }) {
    const cells = document.querySelectorAll(".cell:has(> .cell_input)");
    this.cells = [...cells].map((element, place) => new Cell(element, place + 1, this));
    const code = this.cells.map((cell) => cell.stored).join("\n");
    const used = Object.keys(libraries).filter((name) => code.includes(name));
    this.archives = [...archives, ...used.flatMap((name) => libraries[name])];
    this.python = null;
    this.busy = false;
    this.bar = document.querySelector(".course-bar");
    this.words = make("span", { className: "course-words", role: "status" });
    this.all = make("button", { type: "button", textContent: "Run all cells" });
    this.stop = make("button", { type: "button", textContent: "Stop" });
    this.reset = make("button", { type: "button", textContent: "Undo all edits" });
    this.all.onclick = () => {
      for (const cell of this.cells) cell.show("stored");
      this.runUpTo(this.cells.at(-1));
    };
    this.stop.onclick = () => this.halt("Python was stopped. The next run begins with the first cell.");
    this.reset.onclick = () => {
      for (const cell of this.cells) colour(cell.code, cell.stored);
      this.halt("All cells have their first text again.");
    };
    this.bar.classList.add("course-live");
    this.bar.replaceChildren(this.words, this.all, this.stop, this.reset);
    this.say(`Edit a cell and press Run. Python ${version} works in your browser (${megabytes} MB).`);
  }

  say(words) {
    this.words.textContent = words;
    this.changed();
  }

  changed() {
    if (!this.all) return;
    this.all.disabled = this.busy;
    this.stop.disabled = !this.python;
    this.reset.disabled = this.cells.every((cell) => cell.source === cell.stored);
  }

  halt(words) {
    this.python?.stop();
    this.python = null;
    for (const cell of this.cells) cell.show("stored");
    this.say(words);
  }

  async start() {
    if (this.python) return;
    this.say("Python starts ...");
    const python = (this.python = new Python(this.archives));
    await python.ready;
  }

  /** Runs a cell, and before it the cells above it that have not run. */
  async runUpTo(cell) {
    if (this.busy) return;
    this.busy = true;
    try {
      await this.start();
      for (const each of this.cells.slice(0, cell.number)) {
        if (each !== cell && ["done", "error"].includes(each.state)) continue;
        this.say(`Cell ${each.number} of ${this.cells.length} runs ...`);
        if (!(await each.run())) {
          each.output.scrollIntoView({ block: "nearest" });
          this.say(`Cell ${each.number} stopped with an error.`);
          return;
        }
      }
      this.say(`Cell ${cell.number} of ${this.cells.length} has run.`);
    } catch (error) {
      if (error.message !== "stopped") this.halt(`Python did not start: ${error.message}`);
    } finally {
      this.busy = false;
      this.changed();
    }
  }
}

const found = await contents();
if (found.version) {
  window.book = new Book(found);
  if (new URLSearchParams(location.search).has("run")) window.book.all.click();
}
