/** A user whom the Kubernetes API server authenticated. RBAC decides by these attributes. */
export type ClusterUser = {
  readonly username: string
  readonly uid?: string | undefined
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}
