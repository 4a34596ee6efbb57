import { resolve } from "node:path";
import { parseEnv } from "node:util";
import { variable, type Environment } from "./process-variables.js";

/**
 * Adds the variables of the dotenv file that IGGY_ENV_PATH names, otherwise of `.env` in the working directory.
 * Variables of the environment win; a missing or malformed file adds nothing.
 */
export function withEnvFile(
  environment: Environment,
  workingDirectory: string,
  readText: (path: string) => string | undefined,
): Environment {
  const path = resolve(workingDirectory, variable(environment, "IGGY_ENV_PATH") ?? ".env");
  try {
    const text = readText(path);
    return text === undefined ? environment : { ...parseEnv(text), ...environment };
  } catch {
    return environment;
  }
}
