import * as z from 'zod'
import { LIMITS } from '../wire/limits.ts'
import { described } from './described.ts'
import { AllowedNamespaces, dns1123, host, hostAndPort, Resources, RuleDecisionSchema } from './fields.ts'
import { KillScope } from './kill-scopes.ts'

export const EnforcementLevelSchema = z.enum(['monitor', 'enforce_high_risk', 'full_enforce'])

const Egress = z.strictObject({
  unmatchedHosts: described(
    z.enum(['deny', 'tunnel']).default('deny'),
    'Treatment of hosts that neither a Connector nor `allowedHosts` covers. `deny` refuses them, `tunnel` forwards the connection without reading it.',
    'deny',
  ),
  allowedHosts: described(
    z.array(hostAndPort).max(256).default([]),
    'Hosts that agents may reach without a Connector. The gateway does not read these connections and adds no credential. An entry covers port 443, or the port that it names; `*.` covers all subdomains.',
    ['pypi.org', '*.example.com', 'git.example.com:8443'],
  ),
  tcp: described(
    z
      .array(
        z.strictObject({
          host: described(host, 'Host name or address of the server.', 'db.example.com'),
          port: described(z.int().min(1).max(65535), 'Port of the server.', 5432),
          allowPrivateAddresses: described(
            z.boolean().default(false),
            'Whether the name may resolve to a private address, for example of a database in the same cluster.',
            true,
          ),
        }),
      )
      .max(64)
      .default([]),
    'Servers that agents may reach over TCP with any protocol, such as databases.',
    [{ host: 'db.example.com', port: 5432 }],
  ),
})

const KillSwitch = z.strictObject({
  active: described(
    z.boolean().default(false),
    'Whether the kill switch is on: the gateway refuses every request in its scope and cancels pending approvals.',
    true,
  ),
  reason: described(
    z.string().max(1_000).optional(),
    'Reason of the kill switch, which refusals and the audit log repeat.',
    'incident 42',
  ),
  scopes: described(
    z.array(KillScope).min(1).max(64).optional(),
    'Connectors, agents and instances of agents (SandboxClaims and pods) that the kill switch covers. Without scopes it covers the whole Gateway.',
    [{ kind: 'Agent', name: 'release-bot' }],
  ),
  cancelBatches: described(
    z.boolean().optional(),
    'Whether the kill switch also cancels batches that agents started at model providers. A cancelled batch cannot be resumed.',
    true,
  ),
})

const FailurePolicy = z.strictObject({
  highRiskAfterSeconds: described(
    z.int().min(0).max(86_400).default(30),
    'Seconds without a beat of the control plane after which actions of high risk, unmapped actions and actions that need an approval are denied. At most `writesAfterSeconds`.',
    30,
  ),
  writesAfterSeconds: described(
    z.int().min(0).max(86_400).default(120),
    'Seconds without a beat of the control plane after which all writes are denied. At most `everythingAfterSeconds`.',
    120,
  ),
  everythingAfterSeconds: described(
    z.int().min(0).max(86_400).default(600),
    'Seconds without a beat of the control plane after which every action is denied.',
    600,
  ),
})

export const GatewaySpec = z.strictObject({
  enforcementLevel: described(
    EnforcementLevelSchema.default('full_enforce'),
    'Verdicts that the gateway enforces. `monitor` forwards every request and records the verdict that it would have had. `enforce_high_risk` enforces verdicts of policies, on actions of high risk and on unmapped writes. `full_enforce` enforces all.',
    'full_enforce',
  ),
  defaultDecision: described(
    RuleDecisionSchema.default('deny'),
    'Decision for an action that no Permission matches.',
    'deny',
  ),
  interception: described(
    z.enum(['transparent', 'proxyEnv', 'auto']).default('transparent'),
    'Way from a pod to its sidecar. `transparent` redirects every connection inside the network namespace of the pod. `proxyEnv` sets proxy variables in the containers, which programs can ignore. `auto` captures pods whose runtime has a Linux kernel, and chooses `proxyEnv` under gVisor if a NetworkPolicy of the installation isolates the pod or `autoAllows` has it; otherwise, and with `hardening: strict`, it refuses the pod.',
    'transparent',
  ),
  autoAllows: described(
    z
      .array(z.enum(['proxyEnv']))
      .max(1)
      .default([]),
    'Weaker ways that `interception: auto` may choose without a NetworkPolicy around the pod. `hardening: strict` allows none.',
    ['proxyEnv'],
  ),
  egress: described(Egress.prefault({}), 'Traffic to hosts that no Connector owns.'),
  rateLimit: described(
    z
      .strictObject({
        requestsPerMinute: described(
          z.int().min(1).max(1_000_000).default(120),
          'Requests of one agent in a minute, over all gateway processes together. Each SandboxClaim of an agent has the whole limit for itself. Further requests are refused with 429.',
          600,
        ),
      })
      .prefault({}),
    'Rate limit of every agent of the Gateway.',
  ),
  maxActionsPerRequest: described(
    z.int().min(1).max(1_024).default(LIMITS.actionsPerRequest),
    'Actions in one request, such as the calls of an MCP batch. A request with more is refused with 413.',
    64,
  ),
  approvals: described(
    z
      .strictObject({
        timeoutSeconds: described(
          z.int().min(5).max(86_400).default(300),
          'Seconds that a held request waits for an approval. Then the approval expires and the request is refused.',
          900,
        ),
        maxPendingPerAgent: described(
          z.int().min(1).max(1_000).default(20),
          'Pending approvals of one agent. Further requests that need an approval are refused with 429.',
          20,
        ),
      })
      .prefault({}),
    'Limits of held requests.',
  ),
  failurePolicy: described(
    FailurePolicy.prefault({}),
    'Stages in which a gateway tightens while it has no connection to the control plane.',
  ),
  audit: described(
    z.enum(['async', 'sync']).default('async'),
    'Time at which the intent record of a request counts as stored, which precedes forwarding. `async`: in the page cache, which survives a crash of the gateway process. `sync`: on the disk, which survives a power loss and costs each request 1 to 10 ms.',
    'sync',
  ),
  killSwitch: described(KillSwitch.optional(), 'Kill switch of the Gateway.', {
    active: true,
    reason: 'incident 42',
  }),
  allowedNamespaces: described(
    AllowedNamespaces.optional(),
    'Namespaces whose objects may reference this Gateway, by kind. The namespace of the Gateway always may.',
  ),
  refusalDetail: described(
    z.enum(['full', 'brief']).default('full'),
    'Detail of refusals by a rule, an approver or a kill switch. With `brief`, agents receive only that the request was refused, whom to ask, and the id. Users find the reason by that id. Decisions of `/api/v1/actions` have the reason and the rules in either case.',
    'brief',
  ),
  hardening: described(
    z.enum(['standard', 'strict']).default('standard'),
    'Requirements on governed pods. `strict` also refuses pods with a container that may run as root or without a numeric `runAsUser`.',
    'strict',
  ),
  inbound: described(
    z.enum(['allow', 'deny']).default('allow'),
    'Connections to governed pods. With `deny` a NetworkPolicy selects pods that are created from then on, so that only the node of a pod, which runs its probes, opens connections to it. The network plugin of the cluster must enforce NetworkPolicies.',
    'deny',
  ),
  trust: described(
    z
      .strictObject({
        extraSecretRef: described(
          z
            .strictObject({
              name: described(dns1123, 'Name of the Secret.', 'corporate-ca'),
              key: described(
                z.string().min(1).max(253).default('ca.crt'),
                'Key of the Secret with certificates in PEM.',
                'ca.crt',
              ),
            })
            .optional(),
          'Secret in the namespace of the pod with further certificate authorities that governed pods trust.',
          { name: 'corporate-ca' },
        ),
      })
      .optional(),
    'Certificate authorities that governed pods trust besides the public ones and that of Chaperone.',
  ),
  sidecar: described(
    z
      .strictObject({
        resources: described(
          Resources.optional(),
          'Resources of the sidecar container. Values that are left out have the defaults of the operator.',
        ),
      })
      .optional(),
    'Sidecars of governed pods.',
  ),
  agents: described(
    z
      .strictObject({
        allowServiceAccountToken: described(
          z.boolean().default(false),
          'Whether governed pods keep a ServiceAccount token for the Kubernetes API. Otherwise none is mounted, and pods that project one are refused.',
          true,
        ),
        startOnlyWithRules: described(
          z.boolean().default(false),
          'Whether the containers of governed pods wait until the sidecar has the rules of the Gateway. Otherwise they start after 30 s without rules, and their requests are refused with 503 until the control plane answers.',
          true,
        ),
        seccompProfile: described(
          z
            .string()
            .min(1)
            .max(255)
            .regex(/^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/)
            .optional(),
          'Seccomp profile (`localhostProfile`) of governed pods: a file below the seccomp folder of the kubelet on every node. It should be the default profile of the container runtime without `AF_VSOCK`. Otherwise pods have `RuntimeDefault`.',
          'profiles/agent.json',
        ),
      })
      .optional(),
    'Containers of agents in governed pods.',
  ),
})

export type GatewaySpec = z.infer<typeof GatewaySpec>
