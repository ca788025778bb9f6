/**
 * What the injector promises a sidecar and the sidecar expects in a pod: ports, folders, variables. Both sides read
 * this file, so that a pod never holds a sidecar that looks elsewhere than where things were put.
 */
import { GATEWAY_MALLOC } from '../gateway-flags.ts'

/** Loopback ports that redirected packets land on, and the two that the kubelet and Prometheus ask. */
export const POD_PORTS = {
  /** Redirected TCP 443. */
  tls: 15_443,
  /** Redirected TCP 80. */
  http: 15_080,
  /** Every other redirected TCP port: the listener looks at the first bytes. */
  other: 15_001,
  /** DNS, UDP and TCP, on 127.0.0.1 and ::1. */
  dns: 15_053,
  /** Explicit proxy (CONNECT, absolute-form) on 127.0.0.1 for `interception: proxyEnv`. */
  proxy: 15_002,
  /** `GET /health`, `GET /ready` and `GET /metrics`; the only one that is not on loopback. */
  health: 15_021,
} as const

/** Source ports from which the sidecar probes its own capture: the rules treat them like the agent's. */
export const PROBE_PORTS = { first: 61_000, last: 61_015 } as const

/** The proxy's uid is picked in this range for each pod; nobody else in the pod may have it. */
export const PROXY_UIDS = { first: 1_900_000_000, last: 1_999_999_999 } as const
/** The uid of the rule setter: it ends before anything else starts. */
export const RULE_SETTER_UID = 65_534

export const CONTAINERS = { rules: 'chaperone-rules', proxy: 'chaperone-proxy' } as const

/**
 * The rule setter's command is `[program, -D, proxyUid=UID, -f, file]`: the runtime gives no ambient capabilities, so
 * the container's first program must itself be an nft with the file capability `cap_net_admin+ep`. Both are in the image.
 */
export const RULE_SETTER = {
  program: '/usr/local/sbin/nft-cap',
  file: '/etc/chaperone/rules.nft',
  uidDefine: 'proxy_uid',
} as const

/** What the kubelet asks on `POD_PORTS.health`. */
export const HEALTH_PATHS = {
  /**
   * 200 once the listeners are up, the capture is proven, the trust folder is written and a first snapshot is there or
   * 30 s have passed without one: only then do the agent's containers start.
   */
  started: '/started',
  /** 200 while requests can be decided and the capture holds. */
  ready: '/ready',
} as const

/** Mounted in the proxy alone, but `trust`, which every container of the pod may read. */
export const VOLUMES = {
  /** Projected ServiceAccount token with our audience. */
  token: { name: 'chaperone-token', path: '/var/run/chaperone/token', file: 'token' },
  /** Memory: the Unix socket of the internal API. */
  admin: { name: 'chaperone-admin', path: '/var/run/chaperone/admin', file: 'admin.sock' },
  /** Journal, kill state. In memory, with `audit: sync` on the node's disk. */
  data: { name: 'chaperone-data', path: '/var/lib/chaperone' },
  /** Public roots, ours, and those of the Gateway's `trust.extraSecretRef`: written by the proxy before it is ready. */
  trust: { name: 'chaperone-trust', path: '/etc/chaperone/trust' },
  /** The authorities a sidecar trusts for the control plane (a ConfigMap's content, put into an annotation-free volume). */
  controlPlane: { name: 'chaperone-control-plane-ca', path: '/etc/chaperone/control-plane', file: 'ca.crt' },
  /** `trust.extraSecretRef` of the Gateway: authorities to add to the bundle. */
  extraTrust: { name: 'chaperone-extra-ca', path: '/etc/chaperone/extra-ca', file: 'ca.crt' },
} as const

/** Files in the trust folder. */
export const TRUST_FILES = {
  /** PEM: what `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE`, … name. */
  bundle: 'ca-bundle.crt',
  /** PEM: our authority alone, for `NODE_EXTRA_CA_CERTS`. */
  own: 'ca.crt',
  /** `ca_certificate = <the bundle>`: wget knows no variable for it. */
  wgetrc: 'wgetrc',
  /** PKCS#12 without a secret worth the name, for `-Djavax.net.ssl.trustStore`. */
  java: 'truststore.p12',
  javaPassword: 'changeit',
} as const

/** Environment of the proxy container, beside `DATA_DIR`, `CONTROL_PLANE_URL` and `LOG_LEVEL`. */
export const PROXY_ENV = {
  /** `pod` in a pod; absent on a laptop. */
  role: 'ROLE',
  /** `transparent` or `proxyEnv`. */
  interception: 'INTERCEPTION',
  /** `namespace/name` of the Gateway. */
  gateway: 'GATEWAY_NAME',
  agent: 'AGENT_NAME',
  podName: 'POD_NAME',
  podNamespace: 'POD_NAMESPACE',
  podUid: 'POD_UID',
  serviceAccount: 'POD_SERVICE_ACCOUNT',
  tokenFile: 'GATEWAY_TOKEN_FILE',
  controlPlaneUrl: 'CONTROL_PLANE_URL',
  controlPlaneCaFile: 'CONTROL_PLANE_CA_FILE',
  adminSocket: 'ADMIN_SOCKET',
  trustDir: 'TRUST_DIR',
  /** PEM file with authorities to add to the bundle; absent when there are none. */
  extraCaFile: 'EXTRA_CA_FILE',
} as const

/** Environment of the proxy's runtime: whatever an image brings along must not reach it, and every thread costs memory. */
export const RUNTIME_ENV = { NODE_OPTIONS: '', ...GATEWAY_MALLOC, UV_THREADPOOL_SIZE: '2' } as const

/** Audience of the projected token; the control plane refuses any other. */
export const TOKEN_AUDIENCE = 'chaperone-control-plane'
/** Seconds; the kubelet renews at 80 %. */
export const TOKEN_TTL_S = 3_600

/** Names in metadata of namespaces, pods and templates. */
export const ANNOTATIONS = {
  gateway: 'chaperone.dev/gateway',
  agent: 'chaperone.dev/agent',
  /** Written by the injector: what it did, so that a second pass changes nothing. */
  injected: 'chaperone.dev/injected',
  proxyUid: 'chaperone.dev/proxy-uid',
  /** Written by the injector where a container says that it changes its user, which it cannot: `PATH: PROGRAM`, … */
  bypassPossible: 'chaperone.dev/bypass-possible',
} as const
/** Namespace: `enabled` (annotated pods) or `required` (every pod). On a governed pod the injector sets it to `injected`. */
export const INJECT_LABEL = 'chaperone.dev/inject'
/** On a governed pod: `Captured` (transparent) or `Cooperative` (proxyEnv). */
export const LAYER_LABEL = 'chaperone.dev/layer'
