/** Bar chart of daily counts; the text beside it carries the meaning. */

import { svg } from "../dom.js";

/** `width`, `height` in pixels; a wide chart shrinks with its place. */
export function barChart(values, { width = 96, height = 20 } = {}) {
  const most = Math.max(1, ...values);
  const step = width / values.length;
  const bars = values.map((value, at) => {
    const length = value === 0 ? 1 : Math.max(2, (height * value) / most);
    return svg("rect", { x: at * step, y: height - length, width: step - 1, height: length });
  });
  return svg("svg", { class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, bars);
}
