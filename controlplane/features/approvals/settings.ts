export const APPROVALS_MODES = ['session', 'token']

/**
 * Value of the setting `APPROVALS`. `session`: once the installation has an owner, the CLI token may neither answer
 * approvals nor change rules. `token`: the CLI token is not restricted.
 */
export type ApprovalsMode = 'session' | 'token'

/**
 * Returns the mode. The default is `session`, except in a cluster, where break-glass closes the CLI token once a user
 * with the role admin has signed in, and can open it again. `value` is null or one of `APPROVALS_MODES`.
 */
export function approvalsMode(value: string | null, adminTokenObject: string | null): ApprovalsMode {
  if (value !== null) return value === 'token' ? 'token' : 'session'
  return adminTokenObject === null ? 'session' : 'token'
}
