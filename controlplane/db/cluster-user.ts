/** A user as the cluster identified them: the attributes that its RBAC is asked about. */
export type ClusterUser = {
  readonly username: string
  readonly uid?: string | undefined
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}
