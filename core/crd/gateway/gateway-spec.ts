import * as z from 'zod'
import { described } from '../described.ts'
import { dns1123, RuleDecisionSchema } from '../fields.ts'
import { KillScope } from '../kill-scopes.ts'
import { Resources } from './container-resources.ts'
import { EnforcementLevelSchema, GATEWAY_FIELDS, RefusalDetail } from './gateway-fields.ts'
import { AllowedNamespaces } from './namespace-fields.ts'

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

export const GatewaySpec = z.strictObject({
  enforcementLevel: described(
    EnforcementLevelSchema.default('full_enforce'),
    'Decisions that the gateway enforces. `monitor` forwards every request and records the decision. `enforce_high_risk` enforces the decisions of policies, and all decisions on actions of high risk and on unmapped writes. `full_enforce` enforces all decisions.',
    'full_enforce',
  ),
  defaultDecision: described(
    RuleDecisionSchema.default('deny'),
    'Decision for an action that no Permission matches.',
    'deny',
  ),
  interception: described(
    z.enum(['transparent', 'proxyEnv', 'auto']).default('transparent'),
    'How the connections of a pod reach its sidecar. `transparent` redirects every connection inside the network namespace of the pod. `proxyEnv` sets proxy variables in the containers, which programs can ignore. `auto` chooses `transparent` for pods whose runtime has a Linux kernel. Under gVisor, `auto` chooses `proxyEnv` if a NetworkPolicy of the installation isolates the pod or `autoAllows` lists `proxyEnv`. Otherwise, or with `hardening: strict`, `auto` refuses pods under gVisor.',
    'transparent',
  ),
  autoAllows: described(
    z
      .array(z.enum(['proxyEnv']))
      .max(1)
      .default([]),
    'Forms of interception that `interception: auto` may choose although programs can ignore them and no NetworkPolicy isolates the pod. With `hardening: strict` it chooses none of them.',
    ['proxyEnv'],
  ),
  egress: GATEWAY_FIELDS.egress,
  rateLimit: GATEWAY_FIELDS.rateLimit,
  maxActionsPerRequest: GATEWAY_FIELDS.maxActionsPerRequest,
  approvals: GATEWAY_FIELDS.approvals,
  failurePolicy: GATEWAY_FIELDS.failurePolicy,
  audit: GATEWAY_FIELDS.audit,
  killSwitch: described(KillSwitch.optional(), 'Kill switch of the Gateway.', {
    active: true,
    reason: 'incident 42',
  }),
  allowedNamespaces: described(
    AllowedNamespaces.optional(),
    'Namespaces whose objects may reference this Gateway, by kind. The namespace of the Gateway always may.',
  ),
  refusalDetail: described(
    RefusalDetail.default('full'),
    'Detail of refusals by a rule, an approver or a kill switch. With `brief`, an agent learns only that its request was refused, whom to ask, and an id with which users find the reason. Decisions of `/api/v1/actions` always have the reason and the rules.',
    'brief',
  ),
  hardening: described(
    z.enum(['standard', 'strict']).default('standard'),
    'Requirements on governed pods. `strict` also refuses pods with a container that may run as root or without a numeric `runAsUser`.',
    'strict',
  ),
  inbound: described(
    z.enum(['allow', 'deny']).default('allow'),
    'Connections to governed pods. With `deny`, a NetworkPolicy admits connections to a pod only from its node, which runs the probes. The policy covers pods that are created after the change. The network plugin of the cluster must enforce NetworkPolicies.',
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
    'Certificate authorities that governed pods trust in addition to the public ones and the one of Chaperone.',
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
          'Whether governed pods keep a ServiceAccount token for the Kubernetes API. Otherwise no token is mounted, and pods that project such a token are refused.',
          true,
        ),
        startOnlyWithRules: described(
          z.boolean().default(false),
          'Whether the containers of governed pods wait until the sidecar has the rules of the Gateway. Otherwise the containers start after 30 s even without rules, and their requests are refused with 503 until the control plane answers.',
          true,
        ),
        seccompProfile: described(
          z
            .string()
            .min(1)
            .max(255)
            .regex(/^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/)
            .optional(),
          'Seccomp profile (`localhostProfile`) of governed pods: a file below the seccomp folder of the kubelet on every node. The file should be the default profile of the container runtime without `AF_VSOCK`. If absent, pods have the profile `RuntimeDefault`.',
          'profiles/agent.json',
        ),
      })
      .optional(),
    'Containers of agents in governed pods.',
  ),
})

export type GatewaySpec = z.infer<typeof GatewaySpec>
