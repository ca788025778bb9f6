import { type Import, type SourceFile, target } from './source-files.ts'

export type Violation = { readonly path: string; readonly line: number; readonly message: string }

const COMPONENTS = ['sidecar', 'controlplane', 'operator']
const CORE_PACKAGES = ['zod', 'yaml', 're2js', 'graphql', '@marcbachmann/cel-js']
/** npm packages that are bundled into the dashboard: components, charts and the policy editor. */
const BROWSER_PACKAGES =
  /^(react|react-dom|@mantine\/(core|hooks)|uplot|codemirror|diff|@codemirror\/[a-z-]+)$/

/** Matches the files that declare API routes of features. */
const ROUTES = /^controlplane\/features\/.*routes\.ts$/

type Layer = {
  readonly from: RegExp
  readonly except?: RegExp
  readonly mayNot: RegExp
  readonly because: string
  /**
   * True if type-only imports are allowed. They have no effect at run time, and a lower layer needs them for the types
   * of values that a higher layer passes to it.
   */
  readonly allowsTypes?: true
}

/** Forbidden import directions inside and between the folders of the project, each with the reason. */
const LAYERS: readonly Layer[] = [
  {
    from: /^core\//,
    mayNot: /^(kube|runtime|sidecar|controlplane|operator|scripts)\//,
    because: 'core imports only itself',
  },
  {
    from: /^kube\//,
    mayNot: /^(sidecar|controlplane|operator|scripts)\//,
    because: 'the transport to the Kubernetes API imports core, runtime and itself',
  },
  {
    from: /^runtime\//,
    mayNot: /^(core|kube|sidecar|controlplane|operator|scripts)\//,
    because: 'functions of Node that all components share import nothing of them',
  },
  {
    from: /^sidecar\//,
    mayNot: /^kube\//,
    because: 'a gateway never calls the Kubernetes API',
  },
  {
    from: /^(core|kube|runtime|sidecar|controlplane|operator|scripts)\//,
    mayNot: /^test\//,
    because: 'nothing imports test',
  },
  {
    from: ROUTES,
    mayNot: /^controlplane\/(db|features\/.*(store|rows)\.ts$)/,
    because: 'a route calls a service; it never sees SQL',
    allowsTypes: true,
  },
  {
    from: /^controlplane\/features\//,
    except: /routes\.ts$/,
    mayNot: /^controlplane\/(features\/.*routes\.ts$|http\/(?!input\.ts$|auth\/rights\.ts$))/,
    because: 'a service never sees a request',
    allowsTypes: true,
  },
  {
    from: /^controlplane\/(db\/|features\/.*(store|rows)\.ts$)/,
    mayNot: /^controlplane\/(http\/|sync\/|features\/(?!.*(store|rows)\.ts$))/,
    because: 'the store imports nothing above it',
  },
  {
    from: /^controlplane\/(?!cli\/)/,
    mayNot: /^controlplane\/cli\//,
    because: 'the server does not know the command line',
  },
  {
    from: /^sidecar\/(pipeline|listener)\//,
    except: /^sidecar\/pipeline\/stages\/forward[^/]*\.ts$/,
    mayNot: /^sidecar\/upstream\//,
    because: 'only the forward stage talks upstream',
    allowsTypes: true,
  },
  {
    from: /^sidecar\/upstream\//,
    mayNot: /^sidecar\/(pipeline|listener|messages)\//,
    because: 'an upstream returns an answer, and does not know the exchange',
  },
  {
    from: /^sidecar\/pipeline\/stages\//,
    mayNot: /^sidecar\/(listener|admin)\//,
    because: 'a stage does not know who listens',
  },
]

export function importViolations(file: SourceFile): Violation[] {
  return file.imports.flatMap((imported) => {
    const to = target(file, imported.specifier)
    const messages =
      to === undefined ? packageMessages(file, imported) : targetMessages(file, to, imported.isTypeOnly)
    return messages.map((message) => ({ path: file.path, line: imported.line, message }))
  })
}

function packageMessages(file: SourceFile, { specifier, isTypeOnly }: Import): string[] {
  if (file.path.startsWith('core/') && !CORE_PACKAGES.includes(packageOf(specifier))) {
    return [`imports ${specifier}: core imports only itself and ${CORE_PACKAGES.join(', ')}`]
  }
  if (isBrowser(file.path) && !BROWSER_PACKAGES.test(packageOf(specifier)))
    return [`imports ${specifier}: browser code imports itself, types of core/wire and what the page bundles`]
  if (specifier === 'zod' && ROUTES.test(file.path) && !isTypeOnly)
    return ['imports zod: schemas of requests and replies stand in core/wire, once for all processes']
  return []
}

function targetMessages(file: SourceFile, to: string, isTypeOnly: boolean): string[] {
  const reasons = [
    /\.(tsx?|json)$/.test(to) ? null : 'write the extension .ts',
    componentReason(file.path, to),
    ...LAYERS.map((layer) => layerReason(layer, file.path, to, isTypeOnly)),
    browserReason(file.path, to, isTypeOnly),
  ]
  return reasons.flatMap((reason) => (reason === null ? [] : [`imports ${to}: ${reason}`]))
}

function componentReason(from: string, to: string): string | null {
  const [own, other] = [component(from), component(to)]
  if (own === undefined || other === undefined || own === other) return null
  return `${own} and ${other} meet only over HTTP, through core/wire`
}

function layerReason(layer: Layer, from: string, to: string, isTypeOnly: boolean): string | null {
  const isExempt = layer.except?.test(from) === true || (isTypeOnly && layer.allowsTypes === true)
  return !isExempt && layer.from.test(from) && layer.mayNot.test(to) ? layer.because : null
}

function browserReason(from: string, to: string, isTypeOnly: boolean): string | null {
  if (!isBrowser(from) || isBrowser(to) || (isTypeOnly && to.startsWith('core/'))) return null
  return 'browser code imports only itself and types of core'
}

function component(path: string): string | undefined {
  return COMPONENTS.find((name) => path.startsWith(`${name}/`))
}

function isBrowser(path: string): boolean {
  return path.startsWith('controlplane/dashboard/')
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
