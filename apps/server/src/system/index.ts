export {
  advertisedAddressFor,
  rosterAddresses,
  standaloneAddresses,
  type AdvertisedAddresses,
} from "./advertised-address.js";
export { openFilesLimit, thisMachine } from "./machine.js";
export { currentConfigPath, recreateRuntimeDirectory, writeCurrentConfig } from "./runtime-directory.js";
export { connectSupervisor, type Supervisor } from "./supervisor.js";
export { SystemProbe, type SystemProbeOptions, type SystemUsage } from "./usage.js";
