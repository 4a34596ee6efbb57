import { clusterRules } from "./rules/cluster.js";
import { dataPlaneRules } from "./rules/data-plane.js";
import { operationRules } from "./rules/operation.js";
import { transportRules } from "./rules/transports.js";
import type { Rule } from "./rules/rule.js";

/** Every rule that looks at more than one key. Bounds of single keys belong to their declarations. */
export const CONFIG_RULES: readonly Rule[] = [...operationRules, ...dataPlaneRules, ...clusterRules, ...transportRules];
