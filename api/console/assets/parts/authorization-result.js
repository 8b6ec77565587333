/** Result of an authorization at a provider, from the query before the #; shown once. */

import { here } from "../addresses.js";
import { el } from "../dom.js";
import { showDialog } from "./dialogs.js";
import { button } from "./forms.js";

export function showAuthorizationResult(app) {
  const told = new URLSearchParams(location.search);
  const [connector, error] = [told.get("connector"), told.get("error")];
  if (connector === null && error === null) return;
  history.replaceState(null, "", location.pathname + location.hash);
  if (error === null) {
    app.go([...here().parts.slice(0, 3), connector]);
    app.say("Connected. The first sync has started.");
    return;
  }
  showDialog("Not connected", (close) => [
    el("p", {}, told.get("error_description") ?? error),
    el("p.muted", {}, "Resolve the cause and connect again."),
    el("div.actions", {}, button("Close", () => close(null), { autofocus: true })),
  ]);
}
