/** Bar chart of counts; the text beside it carries the meaning. */

import { svg } from "../dom.js";
import { number } from "../format.js";

/** `width`, `height` in pixels; a wide chart shrinks with its place. `labels`: what each bar counts, shown with it on hover. */
export function barChart(values, { width = 96, height = 20, labels = [] } = {}) {
  const most = Math.max(1, ...values);
  const step = width / values.length;
  const bars = values.map((value, at) => {
    const length = value === 0 ? 1 : Math.max(2, (height * value) / most);
    const said = labels[at] ? svg("title", {}, `${labels[at]}: ${number(value)}`) : null;
    return svg("rect", { class: value === 0 ? "none" : null, x: at * step, y: height - length, width: step - Math.min(2, step / 4), height: length, rx: 1 }, said);
  });
  return svg("svg", { class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, bars);
}
