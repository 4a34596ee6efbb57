export { parseArguments, usageText, type Command, type RunArguments } from "./arguments.js";
export { withEnvFile } from "./env-file.js";
export { configVariables } from "./environment-layer.js";
export { CONFIG_LEAVES, CONFIG_SCHEMA, type ConfigPath, type ServerConfig } from "./keys.js";
export { dialableHost, formatAddress, isLoopback, isUnspecified, type BindAddress } from "./kinds/address.js";
export { cidrContains, parseCidr, type Cidr } from "./kinds/cidr.js";
export { parseLogDirectives, type LogDirectives, type LogLevel } from "./kinds/log-level.js";
export { type Notice } from "./notices.js";
export { ConfigError, type ConfigProblem } from "./problem.js";
export { type Environment } from "./process-variables.js";
export { currentConfigToml, referenceToml } from "./render.js";
export { type RootCredentials } from "./root-credentials.js";
export { publishedListener } from "./rules/transports.js";
export { Secret, SECRET_MASK } from "./secret.js";
export {
  readSettings,
  type ConfigOverrides,
  type Settings,
  type SettingsHost,
  type SettingsInput,
} from "./settings.js";
