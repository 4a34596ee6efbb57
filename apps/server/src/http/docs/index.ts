export { docsRoutes } from "./docs-routes.js";
export { openApi } from "./open-api.js";
