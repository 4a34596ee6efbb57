import type { Notice } from "./notices.js";
import type { ConfigProblem } from "./problem.js";
import { variable, type Environment } from "./process-variables.js";
import { Secret } from "./secret.js";

/** Name and password of the root user, used by the start that creates it and ignored by every later one. */
export interface RootCredentials {
  readonly username: string;
  readonly password: Secret;
}

const USERNAME = "IGGY_ROOT_USERNAME";
const PASSWORD = "IGGY_ROOT_PASSWORD";
/** What `--with-default-root-credentials` sets each missing one of the two to. */
const DEFAULT_CREDENTIAL = "iggy";
const LENGTH_MIN = 3;
const USERNAME_MAX = 50;
const PASSWORD_MAX = 100;

export interface RootCredentialsOutcome {
  readonly credentials: RootCredentials | undefined;
  readonly problems: readonly ConfigProblem[];
  readonly notices: readonly Notice[];
}

/** Reads the two variables. `mustCreateRoot` says that the data directory holds no root user yet. */
export function readRootCredentials(
  environment: Environment,
  withDefaults: boolean,
  mustCreateRoot: boolean,
): RootCredentialsOutcome {
  const given = { username: variable(environment, USERNAME), password: variable(environment, PASSWORD) };
  const fallback = withDefaults ? DEFAULT_CREDENTIAL : undefined;
  const username = given.username ?? fallback;
  const password = given.password ?? fallback;
  const notices = withDefaults ? [defaultsNotice(given)] : [];
  const problems = [
    ...lengthProblem(USERNAME, username, USERNAME_MAX),
    ...lengthProblem(PASSWORD, password, PASSWORD_MAX),
    ...missingProblems(username, password, mustCreateRoot),
  ];
  const credentials =
    username === undefined || password === undefined ? undefined : { username, password: new Secret(password) };
  return { credentials, problems, notices };
}

function defaultsNotice(given: { username: string | undefined; password: string | undefined }): Notice {
  if (given.username !== undefined && given.password !== undefined) {
    return {
      level: "info",
      message: `--with-default-root-credentials is ignored: ${USERNAME} and ${PASSWORD} are both set`,
    };
  }
  return {
    level: "warn",
    message: "the root user has the default credentials, which are known to everybody: use them for development only",
  };
}

function lengthProblem(name: string, value: string | undefined, max: number): ConfigProblem[] {
  if (value === undefined) return [];
  const bytes = Buffer.byteLength(value);
  if (bytes >= LENGTH_MIN && bytes <= max) return [];
  return [{ key: name, rule: `must be ${LENGTH_MIN} to ${max} bytes long, and is ${bytes}` }];
}

function missingProblems(
  username: string | undefined,
  password: string | undefined,
  mustCreateRoot: boolean,
): ConfigProblem[] {
  if (username !== undefined && password !== undefined) return [];
  if (username === undefined && password === undefined) {
    const rule =
      "must both be set, because this start creates the root user; " +
      "for development, start with --with-default-root-credentials instead";
    return mustCreateRoot ? [{ key: `${USERNAME} and ${PASSWORD}`, rule }] : [];
  }
  const [missing, present] = username === undefined ? [USERNAME, PASSWORD] : [PASSWORD, USERNAME];
  return [{ key: missing, rule: `must be set together with ${present}` }];
}
