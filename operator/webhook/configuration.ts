import { ANNOTATIONS, INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import { SYSTEM_NAMESPACES } from '../kube/system-namespaces.ts'

export const WEBHOOK_CONFIGURATION = 'chaperone-injector'
export const MANIFESTS_CONFIGURATION = 'chaperone-manifests'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
export const CONFIGURATIONS = {
  MutatingWebhookConfiguration: { base: ADMISSION, plural: 'mutatingwebhookconfigurations' },
  ValidatingWebhookConfiguration: { base: ADMISSION, plural: 'validatingwebhookconfigurations' },
} as const

/**
 * Paths of the webhook. The path of a call identifies the webhook of the configuration, and thus the selector that
 * matched.
 */
export const WEBHOOK_PATHS = {
  /** Path for every pod of a namespace whose injection label has the value `required`. */
  required: '/pods/required',
  /**
   * Path for annotated pods of every other namespace, for debug containers, and for changes of the injection label of
   * governed pods.
   */
  annotated: '/pods/annotated',
  /** Path for custom resources of Chaperone in every namespace. */
  manifests: '/manifests',
} as const

/** Address at which the API server calls the webhook: a Service of the cluster, or a host. */
export type WebhookTarget =
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port: number } }
  | { readonly url: string }

export type ConfigurationOptions = {
  readonly target: WebhookTarget
  /** PEM with one CA certificate, or with two during a rotation. */
  readonly caBundle: string
  /** The namespace of Chaperone, whose pods must start without the webhook. */
  readonly ownNamespace: string
}

/**
 * Returns the MutatingWebhookConfiguration. An unreachable webhook blocks only governed pods: pods of namespaces that
 * require injection, annotated pods, and debug containers in governed pods.
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
      {
        ...webhook('label', annotated),
        // If this webhook cannot be reached, the admission policies refuse the change of the label.
        failurePolicy: 'Ignore',
        namespaceSelector: { matchExpressions: [outside(ownNamespace)] },
        matchConditions: [NOT_SYSTEM, GOVERNED, ENABLED_AGAIN],
        rules: [rule('UPDATE', 'pods')],
      },
    ],
  }
}

/**
 * Returns the ValidatingWebhookConfiguration of the custom resources. The control plane validates every object again,
 * so an unreachable webhook blocks nothing (`Ignore`). Updates of only the kill switch skip the webhook, so that the
 * webhook cannot delay a kill switch.
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
        matchConditions: [NOT_ONLY_KILL_SWITCH],
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

/** Match condition that is false only for an update that changes the kill switch and nothing else of the spec. */
const NOT_ONLY_KILL_SWITCH = {
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

/**
 * Match condition for an update that sets the injection label of a pod back from `injected` to `enabled`. A controller,
 * such as that of agent-sandbox, does this when it copies the labels of the pod template to the pod.
 */
const ENABLED_AGAIN = {
  name: 'is-labelled-enabled-again',
  expression: [
    `oldObject.metadata.?labels[?'${INJECT_LABEL}'].orValue('') == 'injected'`,
    `object.metadata.?labels[?'${INJECT_LABEL}'].orValue('') == 'enabled'`,
  ].join(' && '),
}

/** Returns a selector of every namespace except the given one. */
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
