export {
  type Addon,
  CONGESTED_BYTES,
  EventKind,
  type NativeCertificate,
  type NativeSettings,
  type NativeTrust,
  type OnEvent,
} from "./addon.js";
export { type AddonPlace, loadAddon, type LoadedAddon, ownAddon } from "./load-addon.js";
