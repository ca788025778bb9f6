import { LAYER_LABEL } from '../../../core/capture/pod-contract.ts'
import { LAYERS } from '../../../core/inject/interception.ts'
import { type Check, ok, problem, warning } from '../doctor/check.ts'
import type { DiagnosedPod, PodFacts } from './pod-facts.ts'

const RULES = 'chaperone-rules'
const PROXY = 'chaperone-proxy'

/** Checks whether a pod is governed. Also checks the pod's Gateway, its sidecar, and the clients in its containers. */
export function podChecks(facts: PodFacts): readonly Check[] {
  const { pod, gatewayName } = facts
  const isInjected = pod.metadata.labels['chaperone.dev/inject'] === 'injected'
  if (gatewayName === null && !isInjected) {
    const remedy = 'annotate the pod template with chaperone.dev/gateway: NAME, then restart the workload'
    return [warning('governed', 'no: the pod has no annotation with a Gateway', remedy)]
  }
  if (!isInjected) {
    const remedy = `kubectl delete pod ${pod.metadata.name} -n ${pod.metadata.namespace}: its workload then creates a governed pod`
    return [
      problem(
        'governed',
        'NO: the pod has a Gateway but no sidecar, because the injector was not available when the pod was created',
        remedy,
      ),
    ]
  }
  const layer = pod.metadata.labels[LAYER_LABEL]
  const isCaptured = layer === LAYERS.transparent
  return [
    ok(
      'governed',
      `by Gateway ${gatewayName}, as agent ${pod.metadata.annotations['chaperone.dev/agent'] ?? '?'}`,
    ),
    layerCheck(layer, pod.status),
    ...setuidChecks(facts.pod),
    ...gatewayChecks(facts),
    ...sidecarChecks(facts, isCaptured),
    ...[...facts.programs].flatMap(([name, programs]) => clientChecks(name, programs, isCaptured)),
  ]
}

function layerCheck(layer: string | undefined, { initContainerStatuses }: Status): Check {
  const isCaptured = layer === LAYERS.transparent
  // A ready sidecar has verified that the traffic of the pod is captured. The label of the pod only states whether
  // the injector selected the capture of the traffic.
  const isProven = initContainerStatuses.some(({ name, ready }) => name === PROXY && ready)
  if (isCaptured && isProven)
    return ok('layer', 'Captured: all outbound traffic of the pod is redirected to the sidecar')
  if (isCaptured)
    return warning(
      'layer',
      'not proven: the sidecar has not verified yet that the traffic of the pod is redirected to it; the agent starts only after that',
      'see the lines rules and sidecar',
    )
  if (layer === LAYERS.isolated)
    return warning(
      'layer',
      'Isolated by NetworkPolicy: programs that ignore the proxy variables reach the same addresses as the sidecar, ungoverned',
      'if the container runtime of the pod supports it, set spec.interception: transparent in the Gateway, then restart the workload',
    )
  return warning(
    'layer',
    'Cooperative: programs that ignore the proxy variables bypass the sidecar',
    'set spec.interception: transparent in the Gateway, then restart the workload',
  )
}

/**
 * Returns a warning about programs that change their user id, because this fails in a governed pod. The injector
 * lists these programs in an annotation.
 */
function setuidChecks({ metadata }: DiagnosedPod): readonly Check[] {
  const found = metadata.annotations['chaperone.dev/bypass-possible']
  if (found === undefined) return []
  const remedy =
    'set runAsUser in the securityContext of the container; added capabilities do not help, because the injector drops them'
  return [warning('user', `a container changes its user, which fails in a governed pod: ${found}`, remedy)]
}

/**
 * Condition types of a Gateway that the check reads; the check ignores all other types. A condition of
 * `POSITIVE_CONDITIONS` is a problem when its status is not True. A condition of `NEGATIVE_CONDITIONS` is a problem
 * when its status is True.
 */
const POSITIVE_CONDITIONS = ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready']
const NEGATIVE_CONDITIONS = ['Degraded', 'KillSwitchActive', 'BypassPossible', 'BypassDetected', 'Stale']

function gatewayChecks({ gateway, gatewayName }: PodFacts): readonly Check[] {
  if (gateway === null) {
    const remedy = `create gateways.chaperone.dev ${gatewayName} again; until then the last rules stay in force`
    return [problem('gateway', 'the Gateway does not exist', remedy)]
  }
  const { conditions } = gateway.status
  const bad = conditions.filter(({ type, status }) =>
    status === 'True' ? NEGATIVE_CONDITIONS.includes(type) : POSITIVE_CONDITIONS.includes(type),
  )
  if (bad.length === 0) return [ok('gateway', 'ready, not degraded')]
  const remedy = `kubectl describe gateways.chaperone.dev ${gatewayName?.replace('/', ' -n ').replace(/^(\S+) -n (\S+)$/, '$2 -n $1')}`
  return bad.map(({ type, reason, message }) => warning('gateway', `${type} (${reason}): ${message}`, remedy))
}

function sidecarChecks({ pod, sidecarImage, readiness }: PodFacts, isCaptured: boolean): readonly Check[] {
  const { metadata, spec, status } = pod
  const proxy = spec.initContainers.find(({ name }) => name === PROXY)
  const logs = `kubectl logs ${metadata.name} -n ${metadata.namespace} -c`
  const restart = 'restart the workload: kubectl rollout restart'
  if (proxy === undefined)
    return [
      problem(
        'sidecar',
        'the pod is labelled as injected but has no sidecar, so it is not governed as intended',
        restart,
      ),
    ]
  return [
    ...(isCaptured ? [rulesCheck(status, `${logs} ${RULES}`)] : []),
    proxyCheck(status, readiness, `${logs} ${PROXY}`),
    sidecarImage === null || sidecarImage === proxy.image
      ? ok('version', proxy.image)
      : warning('version', `outdated: ${proxy.image}; the current image is ${sidecarImage}`, restart),
  ]
}

type Status = DiagnosedPod['status']

function rulesCheck({ initContainerStatuses }: Status, logs: string): Check {
  const setter = initContainerStatuses.find(({ name }) => name === RULES)
  // Between two attempts of the kubelet to start the container, only `lastState` has the result.
  const { exitCode, message = '' } = setter?.state.terminated ?? setter?.lastState.terminated ?? {}
  const reason = message.trim() === '' ? '' : `: ${message.trim()}`
  if (exitCode === 0) return ok('rules', 'set')
  if (exitCode === undefined)
    return warning(
      'rules',
      'the rules that redirect the traffic to the sidecar are not set yet; the containers of the pod start only after that',
      logs,
    )
  return problem(
    'rules',
    `the rules that redirect the traffic could not be set (exit code ${exitCode}), so the agent does not start${reason}`,
    logs,
  )
}

function proxyCheck({ initContainerStatuses }: Status, readiness: string | null, logs: string): Check {
  const found = initContainerStatuses.find(({ name }) => name === PROXY)
  const restarts = found?.restartCount ?? 0
  const times = restarts === 0 ? '' : `, restarted ${restarts} times`
  const last = found?.lastState.terminated?.message ?? ''
  const reason = last === '' ? '' : `; the last one ended with: ${last}`
  const now = readiness?.replace(/^not yet: /, '') ?? 'ok'
  const cause = now === 'ok' ? '' : `, because ${now}`
  if (found?.ready !== true)
    return problem('sidecar', `not ready${times}: requests are refused${cause}${reason}`, logs)
  return restarts === 0 ? ok('sidecar', 'ready') : warning('sidecar', `ready${times}`, `${logs} --previous`)
}

type Known = { readonly works: string; readonly fails?: readonly [what: string, why: string, remedy: string] }

const NO_TRUST = 'has its own root certificates and rejects the CA of the gateway'
const PASSTHROUGH =
  'add a Connector with tls.mode: passthrough, which forwards the connection without decryption'
const SETUID =
  'cannot change the user, because all capabilities are dropped; it fails with "operation not permitted"'

/** For each program, the HTTP clients that work under capture and the clients that fail. */
const CLIENTS: Readonly<Record<string, Known>> = {
  node: { works: 'governed: fetch, https and every SDK that uses them (NODE_EXTRA_CA_CERTS)' },
  python3: {
    works:
      'governed: requests (REQUESTS_CA_BUNDLE); httpx, urllib, aiohttp and SDKs that use them (SSL_CERT_FILE); gRPC',
    fails: ['stripe', NO_TRUST, "stripe.ca_bundle_path = os.environ['SSL_CERT_FILE']"],
  },
  java: {
    works: 'governed: HttpClient (JAVA_TOOL_OPTIONS)',
    fails: ['a program with its own SSLContext', NO_TRUST, 'use SSLContext.getDefault()'],
  },
  go: { works: 'governed: net/http (SSL_CERT_FILE)' },
  curl: { works: 'governed (CURL_CA_BUNDLE)' },
  git: {
    works: 'governed over HTTPS (GIT_SSL_CAINFO)',
    fails: [
      'git over ssh',
      'no Connector supports SSH',
      'git config --global url."https://github.com/".insteadOf git@github.com:',
    ],
  },
  wget: { works: 'governed (WGETRC)' },
  gh: { works: 'governed (SSL_CERT_FILE)' },
  deno: { works: 'governed (DENO_CERT)' },
  cargo: { works: 'governed (CARGO_HTTP_CAINFO)' },
  chromium: { works: '', fails: ['chromium', NO_TRUST, PASSTHROUGH] },
  'google-chrome': { works: '', fails: ['google-chrome', NO_TRUST, PASSTHROUGH] },
  firefox: { works: '', fails: ['firefox', NO_TRUST, PASSTHROUGH] },
  gosu: {
    works: '',
    fails: ['gosu', SETUID, 'set runAsUser in the securityContext of the container instead'],
  },
  'su-exec': {
    works: '',
    fails: ['su-exec', SETUID, 'set runAsUser in the securityContext of the container instead'],
  },
  sudo: {
    works: '',
    fails: ['sudo', SETUID, 'set runAsUser in the securityContext of the container instead'],
  },
}
/** For each program, the HTTP clients that ignore proxy variables and therefore bypass a sidecar without capture. */
const IGNORES_PROXY: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  node: ['stripe and ws', 'new Stripe(key, { httpClient: Stripe.createFetchHttpClient() })'],
  python3: ['aiohttp', 'aiohttp.ClientSession(trust_env=True)'],
}

function clientChecks(
  container: string,
  programs: readonly string[] | null,
  isCaptured: boolean,
): readonly Check[] {
  if (programs === null)
    return [
      ok(
        container,
        'not checked: its programs could not be listed, because the image has no shell or you have no right to exec',
      ),
    ]
  return programs.flatMap((program) => {
    const { works, fails } = CLIENTS[program] ?? { works: 'unknown' }
    const around = isCaptured ? undefined : IGNORES_PROXY[program]
    return [
      ...(works === '' ? [] : [ok(`${container}: ${program}`, works)]),
      ...(fails === undefined ? [] : [warning(`${container}: ${fails[0]}`, fails[1], fails[2])]),
      ...(around === undefined
        ? []
        : [
            warning(
              `${container}: ${around[0]}`,
              'ignores the proxy variables, so its requests bypass the sidecar',
              around[1],
            ),
          ]),
    ]
  })
}
