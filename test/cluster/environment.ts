/** What these tests know of the cluster that they are given. */
export type ClusterEnvironment = {
  /**
   * A shell command that loads the archive `$1`, an OCI image layout, as the image `$2` on every node of the cluster.
   */
  readonly imageLoader: string
  /** An image with Node, Python, curl and git that runs as root and knows nothing of us. */
  readonly agentImage: string
  /** Under which address pods reach what listens on this machine's 127.0.0.1. */
  readonly hostAddress: string
  /** File with a JSON line for every packet that left a pod for nowhere; null where nobody writes one. */
  readonly outsideRecord: string | null
  /**
   * Shell command that adds gVisor to the container runtime of every node: the folder `$1` has its programs and the
   * configuration for containerd. Null: the tests of gVisor do not run.
   */
  readonly runtimeInstaller: string | null
  /** File with the audit events of the API server, a JSON line each; null where it cannot be read. */
  readonly auditRecord: string | null
}

/** Throws naming the variable that is missing and what to set it to. */
export function clusterEnvironment(): ClusterEnvironment {
  const { env } = process
  if (!env['KUBECONFIG']) throw new Error('KUBECONFIG is not set: give the cluster to test in; it is changed')
  return {
    imageLoader: required(
      'CHAPERONE_IMAGE_LOADER',
      'a shell command that loads the OCI archive $1 as image $2 on every node, such as: kind load image-archive "$1"',
    ),
    hostAddress: required(
      'CHAPERONE_HOST_ADDRESS',
      "the address at which pods reach this machine's 127.0.0.1",
    ),
    agentImage: env['CHAPERONE_AGENT_IMAGE'] || 'node:24',
    outsideRecord: env['CHAPERONE_OUTSIDE_RECORD'] || null,
    runtimeInstaller: env['CHAPERONE_RUNTIME_INSTALLER'] || null,
    auditRecord: env['CHAPERONE_AUDIT_RECORD'] || null,
  }
}

function required(name: string, what: string): string {
  const value = process.env[name]
  if (value) return value
  throw new Error(`${name} is not set: set it to ${what}`)
}
