import { ANNOTATIONS, INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import { GatewaySpec } from '../../core/crd/schemas.ts'
import { SYSTEM_NAMESPACES } from '../kube/system-namespaces.ts'

export const WEBHOOK_CONFIGURATION = 'chaperone-injector'
export const MANIFESTS_CONFIGURATION = 'chaperone-manifests'

/** Where the webhook is asked: the path says which selector of the API server matched. */
export const WEBHOOK_PATHS = {
  /** Every pod of a namespace labelled `required`. */
  required: '/pods/required',
  /** Annotated pods of every other namespace, and debug containers. */
  annotated: '/pods/annotated',
  /** Our own four kinds. */
  manifests: '/manifests',
} as const

/** How the API server reaches the webhook: a Service of the cluster, or an address. */
export type WebhookTarget =
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port: number } }
  | { readonly url: string }

export type ConfigurationOptions = {
  readonly target: WebhookTarget
  /** PEM; one or two authorities. */
  readonly caBundle: string
  /** Where Chaperone itself runs: its own pods must start without it. */
  readonly ownNamespace: string
}

/**
 * The MutatingWebhookConfiguration. Nothing fails for want of the webhook but what it governs: pods of namespaces that
 * require it, annotated pods, and debug containers in governed ones.
 */
export function webhookConfiguration({ target, caBundle, ownNamespace }: ConfigurationOptions) {
  const webhook = (name: string, path: string) => ({
    name: `${name}.chaperone.dev`,
    clientConfig: { ...address(target, path), caBundle: Buffer.from(caBundle).toString('base64') },
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    reinvocationPolicy: 'IfNeeded',
    sideEffects: 'None',
    timeoutSeconds: 5,
    admissionReviewVersions: ['v1'],
    objectSelector: {},
  })
  const { required, annotated } = WEBHOOK_PATHS
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: WEBHOOK_CONFIGURATION, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
    webhooks: [
      {
        ...webhook('required', required),
        namespaceSelector: selector(ownNamespace, 'In'),
        matchConditions: [NOT_SYSTEM],
        rules: [rule('CREATE', 'pods')],
      },
      {
        ...webhook('annotated', annotated),
        namespaceSelector: selector(ownNamespace, 'NotIn'),
        matchConditions: [NOT_SYSTEM, ANNOTATED],
        rules: [rule('CREATE', 'pods')],
      },
      {
        ...webhook('debug', annotated),
        namespaceSelector: { matchExpressions: [outside(ownNamespace)] },
        matchConditions: [NOT_SYSTEM, GOVERNED],
        rules: [rule('UPDATE', 'pods/ephemeralcontainers')],
      },
    ],
  }
}

/**
 * The ValidatingWebhookConfiguration of our own kinds. The control plane validates every object again, so an unreachable
 * webhook blocks nothing (`Ignore`). Changes of only a kill switch are not sent, so that nothing delays them.
 */
export function manifestsConfiguration({ target, caBundle }: Omit<ConfigurationOptions, 'ownNamespace'>) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: MANIFESTS_CONFIGURATION, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
    webhooks: [
      {
        name: 'manifests.chaperone.dev',
        clientConfig: {
          ...address(target, WEBHOOK_PATHS.manifests),
          caBundle: Buffer.from(caBundle).toString('base64'),
        },
        failurePolicy: 'Ignore',
        matchPolicy: 'Equivalent',
        sideEffects: 'None',
        timeoutSeconds: 3,
        admissionReviewVersions: ['v1'],
        namespaceSelector: {},
        objectSelector: {},
        matchConditions: [NO_STOP_CHANGES],
        rules: [
          {
            apiGroups: ['chaperone.dev'],
            apiVersions: ['v1alpha1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['gateways', 'connectors', 'permissions', 'policies'],
            scope: 'Namespaced',
          },
        ],
      },
    ],
  }
}

const isSame = (field: string) => `object.spec.?${field} == oldObject.spec.?${field}`

/** False only for an update that changes the kill switch and nothing else of the spec. */
const NO_STOP_CHANGES = {
  name: 'not-only-the-kill-switch',
  expression: `request.resource.resource != 'gateways' || request.operation != 'UPDATE' || ${isSame('killSwitch')} || !(${Object.keys(
    GatewaySpec.shape,
  )
    .filter((field) => field !== 'killSwitch')
    .map(isSame)
    .join(' && ')})`,
}

export const NOT_SYSTEM = {
  name: 'not-in-system-namespaces',
  expression: `!(request.namespace in [${SYSTEM_NAMESPACES.map((name) => `'${name}'`).join(', ')}])`,
}

const ANNOTATED = {
  name: 'names-a-gateway',
  expression: `has(object.metadata.annotations) && '${ANNOTATIONS.gateway}' in object.metadata.annotations`,
}
const GOVERNED = {
  name: 'is-governed',
  expression:
    "has(oldObject.spec.initContainers) && oldObject.spec.initContainers.exists(c, c.name == 'chaperone-proxy')",
}

/** Also the API server's own words for every namespace but ours. */
export function outside(ownNamespace: string) {
  return { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [ownNamespace] }
}

function selector(ownNamespace: string, operator: 'In' | 'NotIn') {
  return { matchExpressions: [outside(ownNamespace), { key: INJECT_LABEL, operator, values: ['required'] }] }
}

function rule(operation: string, resource: string) {
  return {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: [operation],
    resources: [resource],
    scope: 'Namespaced',
  }
}

function address(target: WebhookTarget, path: string): object {
  return 'url' in target ? { url: `${target.url}${path}` } : { service: { ...target.service, path } }
}
