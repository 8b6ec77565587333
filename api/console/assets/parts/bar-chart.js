/** Bar chart of daily counts; the text beside it carries the meaning. */

import { svg } from "../dom.js";

const [WIDTH, HEIGHT] = [96, 20];

export function barChart(values) {
  const most = Math.max(1, ...values);
  const step = WIDTH / values.length;
  const bars = values.map((value, at) => {
    const height = value === 0 ? 1 : Math.max(2, (HEIGHT * value) / most);
    return svg("rect", { x: at * step, y: HEIGHT - height, width: step - 1, height });
  });
  return svg("svg", { class: "spark", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, bars);
}
