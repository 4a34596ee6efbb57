{
  "targets": [
    {
      "target_name": "uring",
      "sources": ["<!@(node scripts/sources.mjs)"],
      "include_dirs": ["native", "<!(node scripts/node-addon-api.mjs)"],
      "defines": ["NAPI_VERSION=8", "NAPI_DISABLE_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED"],
      "cflags": ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-cast-function-type", "-fvisibility=hidden"],
      "cflags_cc": ["-std=c++17"],
      "ldflags": ["-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", "-s"]
    }
  ]
}
