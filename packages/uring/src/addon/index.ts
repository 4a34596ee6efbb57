export { type Addon, type SocketOption } from "./addon.js";
export { type CLibrary, cLibraryOf } from "./c-library.js";
export { type AddonPlace, loadAddon, type LoadedAddon } from "./load-addon.js";
