import { addMetadataChanges } from "./metadata-changes.js";
import { addNode } from "./node.js";
import { addOffsets } from "./offsets.js";
import { HttpRoutes } from "./route.js";
import { addTopology } from "./topology.js";
import { addUsers } from "./users.js";

export { contextJson, contextOf } from "./context.js";
export { type HttpBody, type HttpRequest, idText, query, topicPath } from "./route.js";

/** Every command that HTTP has, but for messages and sign-ins. */
export function httpRoutes(): HttpRoutes {
  const routes = new HttpRoutes();
  for (const add of [addTopology, addUsers, addOffsets, addNode, addMetadataChanges]) add(routes);
  return routes;
}
