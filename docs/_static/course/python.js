// Python as an object: calls are answered one after the other.
const here = new URL(".", import.meta.url);

/** What the build of the site has put beside this file. */
export async function contents() {
  const answer = await fetch(new URL("contents.json", here));
  return answer.ok ? answer.json() : { version: null };
}

export class Python {
  constructor(archives) {
    this.worker = new Worker(new URL("worker.js", here), { type: "module" });
    this.waiting = [];
    this.worker.onmessage = ({ data: [kind, value] }) => {
      const call = this.waiting[0];
      if (kind === "done" || kind === "failed") {
        this.waiting.shift();
        kind === "done" ? call.resolve(value) : call.reject(new Error(value));
      } else call?.show?.(kind, value);
    };
    this.worker.onerror = (event) => {
      for (const call of this.waiting.splice(0)) call.reject(new Error(event.message || "no worker"));
    };
    this.ready = this.call("start", archives);
  }

  /** The result of one act; `show(kind, value)` gets what it prints and displays. */
  call(act, value, show) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject, show });
      this.worker.postMessage([act, value]);
    });
  }

  /** Stops at once; what the cells have computed is lost. */
  stop() {
    this.worker.terminate();
    for (const call of this.waiting.splice(0)) call.reject(new Error("stopped"));
  }
}
