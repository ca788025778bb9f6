import { ANNOTATIONS, INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import { SANDBOX_EXTENSIONS_GROUP, SANDBOX_GROUP } from '../../core/inject/sandbox.ts'
import { demand, type Policy, text, texts, type Validation, type Variable } from './expressions.ts'

const PREFIX = text('chaperone.dev/')
/** Annotations that only the injector writes. */
const WRITTEN = texts([ANNOTATIONS.injected, ANNOTATIONS.proxyUid, ANNOTATIONS.bypassPossible])
/** Values of the label `chaperone.dev/inject` that pod metadata may have. Both request injection. */
const INJECTED = texts(['injected', 'enabled'])

/**
 * Returns a CEL expression for the labels or annotations in the pod metadata of an object of agent-sandbox.
 */
function podMetadata(object: 'object' | 'oldObject', map: 'labels' | 'annotations'): string {
  return `(variables.isClaim ? ${object}.?spec.?additionalPodMetadata.?${map} : ${object}.?spec.?podTemplate.?metadata.?${map}).orValue({})`
}

const VARIABLES: readonly Variable[] = [
  { name: 'isClaim', expression: `request.resource.resource == 'sandboxclaims'` },
  {
    name: 'at',
    expression: `variables.isClaim ? 'spec.additionalPodMetadata' : 'spec.podTemplate.metadata'`,
  },
  ...(['annotations', 'labels'] as const).flatMap((map) => [
    { name: map, expression: podMetadata('object', map) },
    {
      name: `${map}Before`,
      expression: `request.operation == 'CREATE' ? {} : ${podMetadata('oldObject', map)}`,
    },
    {
      name: `${map}Changed`,
      expression: `variables.${map}.filter(k, k.startsWith(${PREFIX}) && variables.${map}[k] != variables.${map}Before[?k].orValue(''))`,
    },
  ]),
  {
    name: 'removed',
    expression: `variables.annotationsBefore.filter(k, k.startsWith(${PREFIX}) && !(k in variables.annotations))`,
  },
  { name: 'isRunning', expression: ['object', 'oldObject'].map(isRunning).join(' && ') },
]

/**
 * Returns a CEL expression that is true when the Sandbox has a pod. The expression reads the fields of both API
 * versions.
 */
function isRunning(object: string): string {
  return `(${object}.?spec.?operatingMode.orValue('Running') != 'Suspended' && ${object}.?spec.?replicas.orValue(1) != 0)`
}

/**
 * Returns the admission policy about pod metadata in objects of agent-sandbox. The controllers of agent-sandbox copy
 * this metadata onto pods repeatedly. A value that pods must not have is therefore refused in these objects already,
 * where its author sees the error. An update is refused only for keys that it changes.
 */
export function sandboxMetadata(): Policy {
  return {
    name: 'chaperone-sandboxes',
    rule: {
      apiGroups: [SANDBOX_GROUP, SANDBOX_EXTENSIONS_GROUP],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['sandboxes', 'sandboxtemplates', 'sandboxclaims'],
    },
    conditions: [],
    variables: VARIABLES,
    validations: [ofClaims(), ofInjector(), ofLabels(), ofRunningSandboxes()],
  }
}

function ofClaims(): Validation {
  return explained({
    isFulfilled: '!variables.isClaim || size(variables.annotationsChanged + variables.labelsChanged) == 0',
    subject: 'spec.additionalPodMetadata',
    found: 'variables.annotationsChanged + variables.labelsChanged',
    problem: 'the author of a claim does not choose how its pod is governed',
    remedy:
      'Remove the keys from the claim, and set them in spec.podTemplate.metadata of the SandboxTemplate',
  })
}

function ofInjector(): Validation {
  const found = `variables.annotationsChanged.filter(k, k in ${WRITTEN})`
  return explained({
    isFulfilled: `size(${found}) == 0`,
    subject: 'spec.podTemplate.metadata.annotations',
    found,
    problem: 'only the injector writes these annotations, with a value of its own for each pod',
    remedy: 'Remove the keys',
  })
}

function ofLabels(): Validation {
  const found = `variables.labelsChanged.filter(k, k != ${text(INJECT_LABEL)} || !(variables.labels[k] in ${INJECTED}))`
  return explained({
    isFulfilled: `size(${found}) == 0`,
    subject: 'spec.podTemplate.metadata.labels',
    found,
    problem: 'only the injector sets these labels on pods',
    remedy: `Remove the keys; to govern the pods, set the annotation ${ANNOTATIONS.gateway}`,
  })
}

/**
 * Returns the rule that refuses changes of the pod metadata in a Sandbox whose pod exists, because that pod keeps the
 * metadata that it was created with.
 */
function ofRunningSandboxes(): Validation {
  const name = (value: string) =>
    `(${value} == '' || ${value}.contains('/') ? ${value} : request.namespace + '/' + ${value})`
  const now = `variables.annotations[?k].orValue('')`
  const before = `variables.annotationsBefore[?k].orValue('')`
  const isSame = `(k == ${text(ANNOTATIONS.gateway)} ? ${name(now)} == ${name(before)} : ${now} == ${before})`
  const found = `(variables.annotationsChanged + variables.removed).filter(k, !${isSame})`
  return explained({
    isFulfilled: `request.operation == 'CREATE' || request.resource.resource != 'sandboxes' || !variables.isRunning || size(${found}) == 0`,
    subject: 'spec.podTemplate.metadata.annotations',
    found,
    problem: 'the Sandbox has a pod, and the governance of a pod cannot change while the pod exists',
    remedy:
      'Set spec.operatingMode: Suspended first, or delete the Sandbox and create it again; for a Sandbox of a warm pool, delete the Sandboxes that no claim has adopted',
  })
}

type Explained = {
  readonly isFulfilled: string
  readonly subject: string
  /** CEL list of the keys that are refused. */
  readonly found: string
  readonly problem: string
  readonly remedy: string
}

/** Creates a rule whose message has every refused key with its old and new value. */
function explained({ isFulfilled, subject, found, problem, remedy }: Explained): Validation {
  const valueIn = (suffix: string) =>
    `variables.annotations${suffix}[?k].orValue(variables.labels${suffix}[?k].orValue(''))`
  const change = `k + ' from "' + ${valueIn('Before')} + '" to "' + ${valueIn('')} + '"'`
  return {
    ...demand(isFulfilled, `${subject}: ${problem}. ${remedy}`),
    messageExpression: `variables.at + ': ' + (${found}).map(k, ${change}).join(', ') + ${text(`: ${problem}. ${remedy}`)}`,
  }
}
