/** Contract between injector and sidecar in a pod: ports, folders, variables. Both sides import this file. */
import { GATEWAY_MALLOC } from '../gateway-flags.ts'

/** Ports of the proxy container. All ports except `health` are on loopback. */
export const POD_PORTS = {
  /** Port for redirected connections to TCP 443. */
  tls: 15_443,
  /** Port for redirected connections to TCP 80. */
  http: 15_080,
  /**
   * Port for redirected connections to every other TCP port. The listener detects the protocol from the first bytes.
   */
  other: 15_001,
  /** Port for redirected DNS queries over UDP and TCP, on 127.0.0.1 and ::1. */
  dns: 15_053,
  /** Port of the explicit proxy (CONNECT, absolute-form) on 127.0.0.1, for `interception: proxyEnv`. */
  proxy: 15_002,
  /**
   * Port of the probes (see `HEALTH_PATHS`), `GET /health` and `GET /metrics`. It is the only port that is not on
   * loopback.
   */
  health: 15_021,
} as const

/**
 * Source ports of the sidecar's capture probe. The nftables rules redirect connections from these ports like the
 * agent's, although the proxy opens them.
 */
export const PROBE_PORTS = { first: 61_000, last: 61_015 } as const

/** Range of uids from which each pod gets one for its proxy. No other container of the pod may have that uid. */
export const PROXY_UIDS = { first: 1_900_000_000, last: 1_999_999_999 } as const
/**
 * Uid of the rule setter, the init container that loads the capture rules. The rule setter exits before any other
 * container starts.
 */
export const RULE_SETTER_UID = 65_534

export const CONTAINERS = { rules: 'chaperone-rules', proxy: 'chaperone-proxy' } as const

/**
 * Rule setter: the init container that loads the capture rules. Its command is `[program, -D, uidDefine=UID, -f,
 * file]`. The container runtime grants no ambient capabilities, so `program` must be an nft binary with the file
 * capability `cap_net_admin+ep`. The image contains `program` and `file`.
 */
export const RULE_SETTER = {
  program: '/usr/local/sbin/nft-cap',
  file: '/etc/chaperone/rules.nft',
  uidDefine: 'proxy_uid',
} as const

/**
 * Rule setter (see `RULE_SETTER`) of pods under gVisor. Its command is `[shell, file, UID]`. It runs as root, because
 * gVisor honours no file capabilities. The image contains `file`, and the legacy programs of iptables.
 */
export const GVISOR_RULE_SETTER = {
  shell: '/bin/sh',
  file: '/etc/chaperone/iptables.sh',
  uid: 0,
  capabilities: ['NET_ADMIN', 'NET_RAW'],
} as const

/**
 * Request target that returns the body of the readiness probe with status 200, because kubectl omits the body of
 * errors.
 */
export const READINESS_REASON = '/ready?reason'

/** Paths of the kubelet's probes on `POD_PORTS.health`. */
export const HEALTH_PATHS = {
  /**
   * Path of the startup probe. The path returns 200 once the listeners accept, the capture is proven, the trust folder
   * is written, and a first snapshot is applied. Unless the Gateway sets `startOnlyWithRules`, the path also returns
   * 200 without a snapshot after 30 s. The agent's containers start after the first status 200.
   */
  started: '/started',
  /** Path of the readiness probe. The path returns 200 while the gateway can decide requests and the capture works. */
  ready: '/ready',
  /**
   * Path of the liveness probe. The path returns 200 as long as the event loop runs, regardless of the state of the
   * gateway.
   */
  live: '/live',
} as const

/** Volumes of the proxy container. Only `trust` is mounted in the other containers of the pod as well. */
export const VOLUMES = {
  /** Projected ServiceAccount token with the control plane's audience. */
  token: { name: 'chaperone-token', path: '/var/run/chaperone/token', file: 'token' },
  /** Volume in memory with the Unix socket of the internal API. */
  admin: { name: 'chaperone-admin', path: '/var/run/chaperone/admin', file: 'admin.sock' },
  /** Volume with the journal and the kill state: in memory, or with `audit: sync` on the node's disk. */
  data: { name: 'chaperone-data', path: '/var/lib/chaperone' },
  /**
   * Volume with the public roots, the gateway's CA, and the CAs of the Gateway's `trust.extraSecretRef`. The proxy
   * writes these files before it is ready.
   */
  trust: { name: 'chaperone-trust', path: '/etc/chaperone/trust' },
  /** Volume with the certificate authorities (CA) that a sidecar trusts for the control plane, from a ConfigMap. */
  controlPlane: { name: 'chaperone-control-plane-ca', path: '/etc/chaperone/control-plane', file: 'ca.crt' },
  /** Secret of the Gateway's `trust.extraSecretRef`: certificate authorities to add to the bundle. */
  extraTrust: { name: 'chaperone-extra-ca', path: '/etc/chaperone/extra-ca', file: 'ca.crt' },
} as const

/** Files in the trust folder. */
export const TRUST_FILES = {
  /** PEM file with the public roots and the gateway's CA, for `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE` and others. */
  bundle: 'ca-bundle.crt',
  /** PEM file with the gateway's certificate authority only, for `NODE_EXTRA_CA_CERTS`. */
  own: 'ca.crt',
  /**
   * File with the line `ca_certificate = <the bundle>`, because wget reads no environment variable for certificates.
   */
  wgetrc: 'wgetrc',
  /**
   * PKCS#12 file for `-Djavax.net.ssl.trustStore`. Its password is public, because the file holds only certificates.
   */
  java: 'truststore.p12',
  javaPassword: 'changeit',
} as const

/** Environment variables of the proxy container, in addition to `DATA_DIR`, `CONTROL_PLANE_URL` and `LOG_LEVEL`. */
export const PROXY_ENV = {
  /** Variable with the value `pod` in a pod; absent on a laptop. */
  role: 'ROLE',
  /** Variable with the interception of the pod's traffic: `transparent` or `proxyEnv`. */
  interception: 'INTERCEPTION',
  /** Variable with the value `true` if the capture rules close IPv6 instead of redirecting it; absent otherwise. */
  ipv6Closed: 'IPV6_CLOSED',
  /** Name of the Gateway, as `namespace/name`. */
  gateway: 'GATEWAY_NAME',
  agent: 'AGENT_NAME',
  podName: 'POD_NAME',
  podNamespace: 'POD_NAMESPACE',
  podUid: 'POD_UID',
  serviceAccount: 'POD_SERVICE_ACCOUNT',
  tokenFile: 'GATEWAY_TOKEN_FILE',
  controlPlaneUrl: 'CONTROL_PLANE_URL',
  /**
   * Variable with the address of the control plane's Service, for a pod that reaches no DNS server; absent if none is
   * configured.
   */
  controlPlaneAddress: 'CONTROL_PLANE_ADDRESS',
  controlPlaneCaFile: 'CONTROL_PLANE_CA_FILE',
  /**
   * DNS servers of the proxy, separated by commas. The proxy does not read them from `/etc/resolv.conf`, which the
   * author of a pod controls.
   */
  dnsResolvers: 'DNS_RESOLVERS',
  clusterDomain: 'CLUSTER_DOMAIN',
  /** Search domains of the nodes, separated by commas; absent if there are none. */
  searchDomains: 'SEARCH_DOMAINS',
  /** Variable with the value `true` if the agent starts only with the rules of the Gateway; absent otherwise. */
  startOnlyWithRules: 'START_ONLY_WITH_RULES',
  adminSocket: 'ADMIN_SOCKET',
  trustDir: 'TRUST_DIR',
  /** Path of a PEM file with certificate authorities to add to the bundle; absent if there are none. */
  extraCaFile: 'EXTRA_CA_FILE',
  /** Resource attributes of OpenTelemetry, which every log line has; absent if there are none. */
  resourceAttributes: 'OTEL_RESOURCE_ATTRIBUTES',
} as const

/**
 * Environment variables of the Node runtime. They are set explicitly so that variables of the image have no effect. The
 * thread pool is small, because each of its threads costs memory.
 */
export const RUNTIME_ENV = { NODE_OPTIONS: '', ...GATEWAY_MALLOC, UV_THREADPOOL_SIZE: '2' } as const

/** Audience of the projected token. The control plane rejects tokens with any other audience. */
export const TOKEN_AUDIENCE = 'chaperone-control-plane'
/** Lifetime of the projected token in seconds. The kubelet renews the token after 80 % of this time. */
export const TOKEN_TTL_S = 3_600

/** Annotations of namespaces, pods and pod templates. */
export const ANNOTATIONS = {
  gateway: 'chaperone.dev/gateway',
  agent: 'chaperone.dev/agent',
  /**
   * Summary of the injection, written by the injector. If a pod has this annotation, another admission of the pod
   * changes nothing.
   */
  injected: 'chaperone.dev/injected',
  proxyUid: 'chaperone.dev/proxy-uid',
  /**
   * Containers with programs that change their user, written by the injector. Comma-separated entries of the form
   * `CONTAINER: PROGRAM`, where CONTAINER is the path of the container in the pod.
   */
  bypassPossible: 'chaperone.dev/bypass-possible',
} as const
/**
 * Label of namespaces and pods. In a namespace with the value `enabled`, the injector adds a sidecar to annotated pods;
 * with the value `required`, to every pod. The injector labels each such pod with the value `injected`.
 */
export const INJECT_LABEL = 'chaperone.dev/inject'
/**
 * Label of a pod with a sidecar that states how the traffic of the pod reaches the sidecar. `Transparent` states
 * redirected connections. `Cooperative` and `IsolatedByNetworkPolicy` state proxy variables (`interception: proxyEnv`);
 * `IsolatedByNetworkPolicy` also states that a NetworkPolicy isolates the pod.
 */
export const LAYER_LABEL = 'chaperone.dev/layer'
/**
 * Label with the value `deny` of a governed pod whose Gateway denies inbound connections. A NetworkPolicy selects pods
 * by this label.
 */
export const INBOUND_LABEL = 'chaperone.dev/inbound'
