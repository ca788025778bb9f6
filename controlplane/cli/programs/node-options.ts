/**
 * Node options for Chaperone's processes: SIGUSR1 must not open the inspector. Empty for versions of Node without the option (before
 * 22.14), which would exit with an error.
 */
export const NODE_OPTIONS: readonly string[] = ['--disable-sigusr1'].filter((option) =>
  process.allowedNodeEnvironmentFlags.has(option),
)
