/** The canonical text of a document, which is Markdown, as headings, lists and tables; built of text nodes alone. */

import { el } from "../dom.js";

const FORMATTED = new Set(["markdown", "html", "webpage", "email", "docx", "doc", "odt", "rtf", "pptx", "ppt", "xlsx", "xls", "ods", "odp", "csv", "epub", "archive", "calendar", "contacts", "pdf", "notion", "image"]);
const BLOCK = /^(#{1,6}\s|\s*([-*+]|\d+[.)])\s|\||>|```|\f)|^\s*$/;
const INLINE = /(\*\*|__)(?=\S)(.+?)\1|`([^`]+)`|!?\[([^\]]*)\]\(((?:[^()\s]|\([^()\s]*\))*)(?:\s"[^"]*")?\)|\\([\\`*_{}[\]()#+\-.!|>~])/;
const MAIL_FIELD = /^(Subject|From|To|Cc|Date|Attachments?):\s(.*)$/;

/** `marks`: spans of UTF-16 units, in order. */
export function richText(text, type, marks) {
  if (!FORMATTED.has(type)) return el("div.document", region, new Marker(marks).run(text, 0));
  return el("div.document.rich", region, new Renderer(text, marks).blocks(type === "email"));
}

/** A part of a document, below a heading of the page: its own headings are emphasis. */
export function excerpt(text, type, marks = []) {
  if (!FORMATTED.has(type)) return el("p.text", { dir: "auto" }, new Marker(marks).run(text, 0));
  return el("div.text.rich", { dir: "auto" }, new Renderer(text, marks, { hasHeadings: false }).blocks(type === "email"));
}

/** A single sentence with its links and emphasis. */
export function sentence(text) {
  return el("blockquote", { dir: "auto" }, new Renderer(text, []).inline(text, 0));
}

const region = { tabindex: "0", role: "region", "aria-label": "Text", dir: "auto" };

/** Cuts runs of text where marks begin and end. */
class Marker {
  #marks;

  constructor(marks) {
    this.#marks = marks;
  }

  /** Nodes for a run of text that stands at an offset. */
  run(text, offset) {
    const nodes = [];
    let at = 0;
    for (const [from, to] of this.#marks) {
      const [start, end] = [Math.max(from - offset, at), Math.min(to - offset, text.length)];
      if (start >= end) continue;
      nodes.push(text.slice(at, start), el("mark", {}, text.slice(start, end)));
      at = end;
    }
    nodes.push(text.slice(at));
    return nodes;
  }
}

class Renderer {
  #lines;
  #marker;
  #at = 0;
  /** Level of the last heading: no level is left out below it, whatever the document does. */
  #level = 1;
  #hasHeadings;

  constructor(text, marks, { hasHeadings = true } = {}) {
    let offset = 0;
    this.#hasHeadings = hasHeadings;
    this.#marker = new Marker(marks);
    this.#lines = text.split("\n").map((line) => {
      const placed = { line, offset };
      offset += line.length + 1;
      return placed;
    });
  }

  blocks(isMail) {
    const nodes = isMail ? [this.#mailFields()] : [];
    while (this.#at < this.#lines.length) nodes.push(this.#block());
    return nodes;
  }

  #take(matches) {
    const taken = [];
    while (this.#at < this.#lines.length && matches(this.#lines[this.#at].line)) taken.push(this.#lines[this.#at++]);
    return taken;
  }

  #mailFields() {
    const rows = this.#take((line) => MAIL_FIELD.test(line)).map(({ line, offset }) => {
      const [, name, value] = MAIL_FIELD.exec(line);
      return [el("dt", {}, name), el("dd", {}, el("bdi", {}, this.#marker.run(value, offset + line.length - value.length)))];
    });
    return rows.length > 0 ? el("dl.mail", {}, rows) : null;
  }

  #block() {
    const { line, offset } = this.#lines[this.#at];
    if (/^[\s\f]*$/.test(line)) return this.#skip(line.includes("\f") ? el("hr") : null);
    if (line.startsWith("```")) return this.#code();
    if (line.startsWith("|")) return this.#table();
    const heading = /^(#{1,6})\s+/.exec(line);
    if (heading) return this.#heading(heading, line, offset);
    if (line.startsWith(">")) return el("blockquote", { dir: "auto" }, this.#take((next) => next.startsWith(">")).map((row) => this.#after(row, /^>\s?/)));
    const item = /^\s*([-*+]|\d+[.)])\s+/;
    if (item.test(line)) return el(/^\s*\d/.test(line) ? "ol" : "ul", {}, this.#take((next) => item.test(next)).map((row) => el("li", { dir: "auto" }, this.#after(row, item, ""))));
    this.#at += 1;
    const rest = this.#take((next) => !BLOCK.test(next));
    return el("p", { dir: "auto" }, [{ line, offset }, ...rest].map((row, at) => [at > 0 ? el("br") : null, this.inline(row.line, row.offset)]));
  }

  #heading([all, { length: depth }], line, offset) {
    const content = this.inline(line.slice(all.length), offset + all.length);
    if (!this.#hasHeadings) return this.#skip(el("p", { dir: "auto" }, el("strong", {}, content)));
    this.#level = Math.min(6, depth + 1, this.#level + 1);
    return this.#skip(el(`h${this.#level}`, { dir: "auto" }, content));
  }

  #skip(node) {
    this.#at += 1;
    return node;
  }

  /** A line without what its pattern matches at the beginning. */
  #after({ line, offset }, pattern, end = "\n") {
    const { length } = pattern.exec(line)[0];
    return [this.inline(line.slice(length), offset + length), end];
  }

  #code() {
    this.#at += 1;
    const lines = this.#take((line) => !line.startsWith("```"));
    this.#at += 1;
    return el("pre", {}, lines.map(({ line, offset }) => [this.#marker.run(line, offset), "\n"]));
  }

  #table() {
    const rows = this.#take((line) => line.startsWith("|"));
    const isRule = ({ line }) => /^[|\s:-]+$/.test(line);
    const hasHead = rows.length > 1 && isRule(rows[1]);
    const cells = (row, tag) => el("tr", {}, this.#cells(row).map(([text, offset]) => el(tag, { dir: "auto" }, this.inline(text, offset))));
    return el(
      "table",
      {},
      hasHead ? el("thead", {}, cells(rows[0], "th")) : null,
      el("tbody", {}, rows.filter((row, at) => !isRule(row) && !(hasHead && at === 0)).map((row) => cells(row, "td"))),
    );
  }

  #cells({ line, offset }) {
    const found = [];
    for (const match of line.matchAll(/\|((?:\\.|[^|\\])*)(?=\|)/g)) found.push([match[1], offset + match.index + 1]);
    return found;
  }

  /** Bold, code and links within a line. */
  inline(text, offset) {
    const match = INLINE.exec(text);
    if (match === null) return this.#marker.run(text, offset);
    const [all, bold, strong, code, label, address, escaped] = match;
    const at = offset + match.index;
    return [
      this.#marker.run(text.slice(0, match.index), offset),
      strong !== undefined
        ? el("strong", {}, this.inline(strong, at + bold.length))
        : code !== undefined
          ? el("code", {}, this.#marker.run(code, at + 1))
          : escaped !== undefined
            ? this.#marker.run(escaped, at + 1)
            : link(this.#marker.run(label, at + all.indexOf(label)), address),
      this.inline(text.slice(match.index + all.length), at + all.length),
    ];
  }
}

/** Only addresses of the web lead anywhere; pictures are not fetched. */
function link(label, address) {
  return /^https?:/.test(address) ? el("a", { href: address, rel: "noreferrer noopener", target: "_blank" }, label) : label;
}
