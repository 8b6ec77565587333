"use strict";
/** Show /openapi.json with Swagger UI; requests go to this service, under the key that is entered with Authorize. */

const EXAMPLE_ADDRESS = "http://127.0.0.1:8787";
const address = new URL("../..", document.baseURI).href.replace(/\/$/, "");

const replaceAddress = (spec) => {
  const named = spec.servers[0].url === "." ? EXAMPLE_ADDRESS : spec.servers[0].url;
  const text = JSON.stringify({ ...spec, servers: [] }).replaceAll(named, address);
  return { ...JSON.parse(text), servers: [{ url: address }] };
};

const show = async () => {
  const answer = await fetch(`${address}/openapi.json`);
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  SwaggerUIBundle({
    spec: replaceAddress(await answer.json()),
    domNode: document.querySelector("#reference"),
    deepLinking: true,
    filter: true,
    docExpansion: "list",
    defaultModelsExpandDepth: -1,
    tryItOutEnabled: false,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
  });
};

show().catch((error) => {
  document.querySelector("#reference").textContent = `The reference can't be shown: ${error.message}`;
});
