import * as z from 'zod'

/**
 * Fields of a Kubernetes pod that the injector reads. All other fields stay unchanged. Numbers and booleans have the
 * types of the API server, so that the injector rejects the same values as the API server.
 */
const EnvVar = z.looseObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z.record(z.string(), z.looseObject({ optional: z.boolean().optional() })).optional(),
})

const Profile = z.looseObject({ type: z.string().optional(), localhostProfile: z.string().optional() })
const SeLinux = z.looseObject({
  type: z.string().optional(),
  user: z.string().optional(),
  role: z.string().optional(),
})
const Windows = z.looseObject({ hostProcess: z.boolean().optional() })

const SharedSecurity = {
  runAsUser: z.int().optional(),
  runAsGroup: z.int().optional(),
  runAsNonRoot: z.boolean().optional(),
  seccompProfile: Profile.optional(),
  appArmorProfile: Profile.optional(),
  seLinuxOptions: SeLinux.optional(),
  windowsOptions: Windows.optional(),
}

const ContainerSecurity = z.looseObject({
  ...SharedSecurity,
  privileged: z.boolean().optional(),
  allowPrivilegeEscalation: z.boolean().optional(),
  readOnlyRootFilesystem: z.boolean().optional(),
  procMount: z.string().optional(),
  capabilities: z
    .looseObject({ add: z.array(z.string()).optional(), drop: z.array(z.string()).optional() })
    .optional(),
})

const PodSecurity = z.looseObject({
  ...SharedSecurity,
  sysctls: z.array(z.looseObject({ name: z.string(), value: z.string() })).optional(),
})

const Action = z.looseObject({
  httpGet: z.looseObject({ host: z.string().optional() }).optional(),
  tcpSocket: z.looseObject({ host: z.string().optional() }).optional(),
})

const Mount = z.looseObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() })

const Container = z.looseObject({
  name: z.string(),
  image: z.string().optional(),
  env: z.array(EnvVar).optional(),
  envFrom: z.array(z.unknown()).optional(),
  ports: z
    .array(
      z.looseObject({ containerPort: z.int(), hostPort: z.int().optional(), name: z.string().optional() }),
    )
    .optional(),
  volumeMounts: z.array(Mount).optional(),
  securityContext: ContainerSecurity.optional(),
  startupProbe: Action.optional(),
  readinessProbe: Action.optional(),
  livenessProbe: Action.optional(),
  lifecycle: z.looseObject({ postStart: Action.optional(), preStop: Action.optional() }).optional(),
  restartPolicy: z.string().optional(),
  /** Name of the container that an ephemeral container debugs. Absent in other containers. */
  targetContainerName: z.string().optional(),
})

const TokenSource = z.looseObject({ audience: z.string().optional() })
const Volume = z.looseObject({
  name: z.string(),
  projected: z
    .looseObject({
      sources: z.array(z.looseObject({ serviceAccountToken: TokenSource.optional() })).optional(),
    })
    .optional(),
})

const Spec = z.looseObject({
  containers: z.array(Container),
  initContainers: z.array(Container).optional(),
  ephemeralContainers: z.array(Container).optional(),
  volumes: z.array(Volume).optional(),
  securityContext: PodSecurity.optional(),
  automountServiceAccountToken: z.boolean().optional(),
  runtimeClassName: z.string().optional(),
  hostNetwork: z.boolean().optional(),
  hostPID: z.boolean().optional(),
  hostIPC: z.boolean().optional(),
  shareProcessNamespace: z.boolean().optional(),
  os: z.looseObject({ name: z.string() }).optional(),
  imagePullSecrets: z.array(z.looseObject({ name: z.string().optional() })).optional(),
})

const Owner = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string().optional(),
  controller: z.boolean().optional(),
})

const Metadata = z.looseObject({
  name: z.string().optional(),
  generateName: z.string().optional(),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  ownerReferences: z.array(Owner).optional(),
})

export const PodSchema = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  metadata: Metadata.default({}),
  spec: Spec,
})

export type Pod = z.infer<typeof PodSchema>
export type Container = z.infer<typeof Container>
export type Volume = z.infer<typeof Volume>
export type VolumeMount = z.infer<typeof Mount>
export type EnvVar = z.infer<typeof EnvVar>
export type Owner = z.infer<typeof Owner>
export type SecurityContext = z.infer<typeof ContainerSecurity>
export type Metadata = z.infer<typeof Metadata>

/** Metadata from which the workload and the agent of a pod follow. */
export type OwnedMetadata = {
  readonly name?: string | undefined
  readonly generateName?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
  readonly ownerReferences?: readonly Owner[] | undefined
}
