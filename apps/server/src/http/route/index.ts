export { type Access, anyCredential, needs, needsOrSelf } from "./access.js";
export { busy, HttpError, notFound, refusal } from "./http-error.js";
export { type Answer, empty, type Headers, json, type Outcome, type PiecedText, pieces, raw } from "./outcome.js";
export {
  type Method,
  type Place,
  publicRoute,
  type PublicRequest,
  type RawParts,
  route,
  type Route,
  type RouteRequest,
} from "./route.js";
export { flagText, identifierText, u32Text, u64Text } from "./texts.js";
