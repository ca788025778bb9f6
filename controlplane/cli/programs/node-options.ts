/**
 * Node's options for our own processes: SIGUSR1 opens no inspector. Empty for versions of Node without the option
 * (before 22.14), which would refuse to start.
 */
export const NODE_OPTIONS: readonly string[] = ['--disable-sigusr1'].filter((option) =>
  process.allowedNodeEnvironmentFlags.has(option),
)
