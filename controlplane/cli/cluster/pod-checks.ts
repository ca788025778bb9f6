import { type Check, ok, problem, warning } from '../doctor/check.ts'
import type { DiagnosedPod, PodFacts } from './pod-facts.ts'

const RULES = 'chaperone-rules'
const PROXY = 'chaperone-proxy'

/** What is to be said about a pod: is it governed, by what, what is outdated, and which of its clients will fail and why. */
export function podChecks(facts: PodFacts): readonly Check[] {
  const { pod, gatewayName } = facts
  const isInjected = pod.metadata.labels['chaperone.dev/inject'] === 'injected'
  if (gatewayName === null && !isInjected) {
    const mend = 'annotate the pod template: chaperone.dev/gateway: NAME, then restart the workload'
    return [warning('governed', 'no: the pod names no Gateway, so nothing of Chaperone concerns it', mend)]
  }
  if (!isInjected) {
    const mend = `kubectl delete pod ${pod.metadata.name} -n ${pod.metadata.namespace}: its workload makes a governed one`
    return [
      problem(
        'governed',
        'NO: it names a Gateway and has no sidecar; it was made while nobody injected',
        mend,
      ),
    ]
  }
  const isCaptured = pod.metadata.labels['chaperone.dev/layer'] === 'Captured'
  return [
    ok(
      'governed',
      `by Gateway ${gatewayName}, as agent ${pod.metadata.annotations['chaperone.dev/agent'] ?? '?'}`,
    ),
    layerCheck(isCaptured),
    ...setuidChecks(facts.pod),
    ...gatewayChecks(facts),
    ...sidecarChecks(facts, isCaptured),
    ...[...facts.programs].flatMap(([name, programs]) => clientChecks(name, programs, isCaptured)),
  ]
}

function layerCheck(isCaptured: boolean): Check {
  if (isCaptured) return ok('layer', 'Captured: whatever leaves the pod goes through the sidecar')
  return warning(
    'layer',
    'Cooperative: programs that ignore the proxy variables are not held',
    'spec.interception: transparent in the Gateway, then restart the workload',
  )
}

/** What the injector found in the pod's own words. */
function setuidChecks({ metadata }: DiagnosedPod): readonly Check[] {
  const found = metadata.annotations['chaperone.dev/bypass-possible']
  if (found === undefined) return []
  const mend = 'set runAsUser in its securityContext, and never give the capabilities back'
  return [warning('user', `a container changes its user, which it cannot when governed: ${found}`, mend)]
}

/** Conditions that are errors only while they are there. */
const TROUBLES = ['Degraded', 'KillSwitchActive', 'BypassPossible', 'BypassDetected', 'Stale']

function gatewayChecks({ gateway, gatewayName }: PodFacts): readonly Check[] {
  if (gateway === null) {
    const mend = `apply gateways.chaperone.dev ${gatewayName} again; until then the last rules stay in force`
    return [problem('gateway', 'it is not there any more', mend)]
  }
  const { conditions } = gateway.status
  const bad = conditions.filter(({ type, status }) =>
    TROUBLES.includes(type) ? status === 'True' : status !== 'True',
  )
  if (bad.length === 0) return [ok('gateway', 'ready, in force on every sidecar')]
  const mend = `kubectl describe gateways.chaperone.dev ${gatewayName?.replace('/', ' -n ').replace(/^(\S+) -n (\S+)$/, '$2 -n $1')}`
  return bad.map(({ type, reason, message }) => warning('gateway', `${type} (${reason}): ${message}`, mend))
}

function sidecarChecks({ pod, sidecarImage }: PodFacts, isCaptured: boolean): readonly Check[] {
  const { metadata, spec, status } = pod
  const proxy = spec.initContainers.find(({ name }) => name === PROXY)
  const logs = `kubectl logs ${metadata.name} -n ${metadata.namespace} -c`
  const restart = 'restart the workload: kubectl rollout restart'
  if (proxy === undefined) return [problem('sidecar', 'the label says injected, and there is none', restart)]
  return [
    ...(isCaptured ? [rulesCheck(status, `${logs} ${RULES}`)] : []),
    proxyCheck(status, `${logs} ${PROXY}`),
    sidecarImage === null || sidecarImage === proxy.image
      ? ok('version', proxy.image)
      : warning('version', `outdated: ${proxy.image}, the installation has ${sidecarImage}`, restart),
  ]
}

type Status = DiagnosedPod['status']

function rulesCheck({ initContainerStatuses }: Status, logs: string): Check {
  const exitCode = initContainerStatuses.find(({ name }) => name === RULES)?.state.terminated?.exitCode
  if (exitCode === 0) return ok('rules', 'set')
  if (exitCode === undefined) return warning('rules', 'not set yet: nothing of the pod runs before', logs)
  return problem('rules', `could not be set (exit code ${exitCode}): the agent does not start`, logs)
}

function proxyCheck({ initContainerStatuses }: Status, logs: string): Check {
  const found = initContainerStatuses.find(({ name }) => name === PROXY)
  const restarts = found?.restartCount ?? 0
  const times = restarts === 0 ? '' : `, restarted ${restarts} times`
  if (found?.ready !== true)
    return problem('sidecar', `not ready${times}: calls are refused, nothing leaves`, logs)
  return restarts === 0 ? ok('sidecar', 'ready') : warning('sidecar', `ready${times}`, `${logs} --previous`)
}

type Known = { readonly works: string; readonly fails?: readonly [what: string, why: string, mend: string] }

const NO_TRUST = 'brings its own roots and refuses our certificate'
const PASSTHROUGH = 'a Connector with tls.mode: passthrough lets it through unread'
const SETUID =
  'cannot change the user: all capabilities are dropped, and it ends with "operation not permitted"'

/** By program: what works under capture, and what does not. */
const CLIENTS: Readonly<Record<string, Known>> = {
  node: { works: 'fetch, https and every SDK on them (NODE_EXTRA_CA_CERTS)' },
  python3: {
    works: 'requests (REQUESTS_CA_BUNDLE); httpx, urllib, aiohttp and SDKs on them (SSL_CERT_FILE); gRPC',
    fails: ['stripe', NO_TRUST, "stripe.ca_bundle_path = os.environ['SSL_CERT_FILE']"],
  },
  java: {
    works: 'HttpClient (JAVA_TOOL_OPTIONS)',
    fails: ['a program that builds its own SSLContext', NO_TRUST, 'let it use SSLContext.getDefault()'],
  },
  go: { works: 'net/http (SSL_CERT_FILE)' },
  curl: { works: 'CURL_CA_BUNDLE' },
  git: {
    works: 'over HTTPS (GIT_SSL_CAINFO)',
    fails: [
      'git over ssh',
      'no Connector reads SSH',
      'git config --global url."https://github.com/".insteadOf git@github.com:',
    ],
  },
  wget: { works: 'WGETRC' },
  gh: { works: 'SSL_CERT_FILE' },
  deno: { works: 'DENO_CERT' },
  cargo: { works: 'CARGO_HTTP_CAINFO' },
  chromium: { works: '', fails: ['chromium', NO_TRUST, PASSTHROUGH] },
  'google-chrome': { works: '', fails: ['google-chrome', NO_TRUST, PASSTHROUGH] },
  firefox: { works: '', fails: ['firefox', NO_TRUST, PASSTHROUGH] },
  gosu: { works: '', fails: ['gosu', SETUID, 'runAsUser of the container instead'] },
  'su-exec': { works: '', fails: ['su-exec', SETUID, 'runAsUser of the container instead'] },
  sudo: { works: '', fails: ['sudo', SETUID, 'runAsUser of the container instead'] },
}
/** Under variables alone these go around, too. */
const IGNORES_PROXY: Readonly<Record<string, readonly [what: string, mend: string]>> = {
  node: ['stripe and ws', 'new Stripe(key, { httpClient: Stripe.createFetchHttpClient() })'],
  python3: ['aiohttp', 'aiohttp.ClientSession(trust_env=True)'],
}

function clientChecks(
  container: string,
  programs: readonly string[] | null,
  isCaptured: boolean,
): readonly Check[] {
  if (programs === null)
    return [ok(container, 'its programs could not be listed: no shell in it, or no right to exec')]
  return programs.flatMap((program) => {
    const { works, fails } = CLIENTS[program] ?? { works: 'not known' }
    const around = isCaptured ? undefined : IGNORES_PROXY[program]
    return [
      ...(works === '' ? [] : [ok(`${container}: ${program}`, works)]),
      ...(fails === undefined ? [] : [warning(`${container}: ${fails[0]}`, fails[1], fails[2])]),
      ...(around === undefined
        ? []
        : [warning(`${container}: ${around[0]}`, 'ignores the variables, goes around', around[1])]),
    ]
  })
}
