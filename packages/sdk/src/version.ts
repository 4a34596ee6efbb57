/** Version of this package, as its sign-ins carry it. */
export const sdkVersion = "0.0.0";
