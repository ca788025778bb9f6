/**
 * Node options of Chaperone's processes. They prevent Node from opening the inspector on SIGUSR1. Empty for versions
 * of Node without the option (before 22.14), because Node exits with an error for an unknown option.
 */
export const NODE_OPTIONS: readonly string[] = ['--disable-sigusr1'].filter((option) =>
  process.allowedNodeEnvironmentFlags.has(option),
)
