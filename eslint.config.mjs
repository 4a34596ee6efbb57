import js from "@eslint/js";
import tseslint from "typescript-eslint";

/**
 * The dependency arrows between packages (ARCHITECTURE.md, "The house"): each package may import only the ones listed
 * for it, and only through their door.
 */
const arrows = {
  "packages/protocol": [],
  "packages/consensus": ["@iggy/protocol"],
  "packages/storage": ["@iggy/protocol"],
  "packages/quic": [],
  "packages/uring": [],
  "packages/engine": ["@iggy/protocol"],
  "packages/sdk": ["@iggy/protocol", "@iggy/protocol/legacy"],
  // The fake server runs the real state machine, which is bundled into that entry alone.
  "packages/sdk/src/testing": ["@iggy/protocol", "@iggy/engine"],
  "apps/server": ["@iggy/protocol", "@iggy/consensus", "@iggy/storage", "@iggy/engine", "@iggy/quic", "@iggy/uring"],
  examples: ["@iggy/sdk"],
  bdd: ["@iggy/sdk", "@iggy/server"],
};
const everyPackage = [
  "@iggy/protocol",
  "@iggy/protocol/legacy",
  "@iggy/consensus",
  "@iggy/storage",
  "@iggy/quic",
  "@iggy/uring",
  "@iggy/engine",
  "@iggy/sdk",
  "@iggy/server",
];
/** Packages of the pure core: time, randomness, sockets and files come in through interfaces. */
const pure = ["packages/protocol", "packages/consensus", "packages/engine"];

const arrowRules = Object.entries(arrows).map(([folder, allowed]) => ({
  files: [`${folder}/src/**/*.ts`, ...(/^packages\/[^/]+$|^apps/.test(folder) ? [] : [`${folder}/**/*.ts`])],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        paths: everyPackage
          .filter((name) => !allowed.includes(name))
          .map((name) => ({
            name,
            message: `${folder} does not depend on ${name} (see the arrows in eslint.config.mjs).`,
          })),
        patterns: [
          { group: ["@iggy/*/*", "!@iggy/protocol/legacy"], message: "Enter a package through its door." },
          { group: ["**/packages/*", "**/apps/*"], message: "Import a package by its name." },
          ...(pure.includes(folder)
            ? [{ group: ["node:*"], message: "The core is pure: take the effect through an interface." }]
            : []),
        ],
      },
    ],
  },
}));

export default tseslint.config(
  { ignores: ["**/dist/**", "**/node_modules/**", "**/.turbo/**", "**/coverage/**"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      "no-console": "error",
    },
  },
  {
    files: ["**/test/**/*.ts", "**/bench/**/*.ts", "bdd/**/*.ts", "**/*.config.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      // Vector files are read as what the caller says they are.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      "no-console": "off",
    },
  },
  { files: ["examples/**/*.ts", "scripts/**"], rules: { "no-console": "off" } },
  {
    files: ["**/*.mjs"],
    languageOptions: {
      globals: {
        process: "readonly",
        console: "readonly",
        URL: "readonly",
        setTimeout: "readonly",
        clearTimeout: "readonly",
        AbortSignal: "readonly",
      },
    },
  },
  ...arrowRules,
);
