import type { Logger } from 'pino'
import { ANNOTATIONS } from '../../../core/capture/pod-contract.ts'
import {
  readSandbox,
  SANDBOX_EXTENSIONS_GROUP,
  SANDBOX_GROUP,
  type Sandbox,
  type SandboxLookup,
  type SandboxTemplate,
} from '../../../core/inject/sandbox.ts'
import type { KubeClient } from '../../kube/client.ts'
import { type KubeObject, pathOf } from '../../kube/objects.ts'
import {
  createReflector,
  type Reflector,
  type ReflectorMetrics,
  type ReflectorTiming,
} from '../../kube/reflector.ts'

export type Sandboxes = SandboxLookup & {
  /** Returns the namespaces with a SandboxTemplate; null before the cache is filled. */
  templateNamespaces(): ReadonlySet<string> | null
  /** Returns the resource version of a cached Sandbox; undefined if the Sandbox is not cached. */
  versionOf(namespace: string, name: string): string | undefined
  stop(): Promise<void>
}

export type SandboxesDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly timing?: ReflectorTiming | undefined
  /** Called when a SandboxTemplate was added, changed or deleted. */
  readonly onTemplate: () => void
  /** Called with the key (`namespace/name`) of every Sandbox that was added, changed or deleted. */
  readonly onSandbox: (key: string) => void
}

const DEFINITIONS = { base: '/apis/apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' }

/**
 * Opens informer caches of Sandboxes and SandboxTemplates while agent-sandbox is installed. In a cluster without
 * agent-sandbox only the two CustomResourceDefinitions are watched.
 */
export function startSandboxes(deps: SandboxesDeps): Sandboxes {
  const sandboxes = startOptional<SandboxObject>(deps, {
    group: SANDBOX_GROUP,
    plural: 'sandboxes',
    isMetadataOnly: true,
    trim: (object) => ({ ...identityOf(object), sandbox: readSandbox(object.metadata) }),
    onChange(key) {
      if (key !== null) deps.onSandbox(key)
    },
  })
  const templates = startOptional<TemplateObject>(deps, {
    group: SANDBOX_EXTENSIONS_GROUP,
    plural: 'sandboxtemplates',
    isMetadataOnly: false,
    onChange: deps.onTemplate,
    trim: (object) => ({ ...identityOf(object), template: templateOf(object as FullTemplate) }),
  })
  return {
    sandboxOf: (namespace, name) => sandboxes.cache()?.get(`${namespace}/${name}`)?.sandbox,
    templateOf(namespace, name) {
      const cache = templates.cache()
      if (cache?.isSynced() !== true) return undefined
      return cache.get(`${namespace}/${name}`)?.template ?? { agent: null, gateway: null }
    },
    templateNamespaces() {
      if (!templates.isKnown()) return null
      return new Set(
        templates
          .cache()
          ?.list()
          .map(({ metadata: { namespace = '' } }) => namespace),
      )
    },
    versionOf: (namespace, name) => sandboxes.cache()?.get(`${namespace}/${name}`)?.metadata.resourceVersion,
    async stop() {
      await Promise.all([sandboxes.stop(), templates.stop()])
    },
  }
}

type SandboxObject = KubeObject & { readonly sandbox: Sandbox }
type TemplateObject = KubeObject & { readonly template: SandboxTemplate }
type FullTemplate = KubeObject & {
  readonly spec?: {
    readonly podTemplate?: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } }
  }
}

function templateOf({ spec }: FullTemplate): SandboxTemplate {
  const annotations = spec?.podTemplate?.metadata?.annotations ?? {}
  return { agent: annotations[ANNOTATIONS.agent] ?? null, gateway: annotations[ANNOTATIONS.gateway] ?? null }
}

function identityOf({ metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject {
  return { metadata: { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion } }
}

type OptionalResource<T> = {
  readonly group: string
  readonly plural: string
  readonly isMetadataOnly: boolean
  readonly trim: (object: KubeObject) => T
  /**
   * Called with the key of a changed object, or with null when all objects were deleted together with their
   * CustomResourceDefinition.
   */
  readonly onChange: (key: string | null) => void
}

type Definition = KubeObject & {
  /** API version in which etcd stores the objects. */
  readonly version: string
}
type FullDefinition = KubeObject & {
  readonly spec: { readonly versions: ReadonlyArray<{ readonly name: string; readonly storage: boolean }> }
}

/** Watches a resource that exists only while its CustomResourceDefinition is installed. */
function startOptional<T extends KubeObject>(
  { client, log, metrics, timing }: SandboxesDeps,
  { group, plural, isMetadataOnly, onChange, trim }: OptionalResource<T>,
) {
  const common = { client, log, metrics, ...(timing === undefined ? {} : { timing }) }
  const name = `${plural}.${group}`
  const stopping = new Set<Promise<void>>()
  let open: { readonly version: string; readonly cache: Reflector<T> } | null = null

  function stopCache(): void {
    if (open === null) return
    const stopped = open.cache.stop()
    stopping.add(stopped)
    void stopped.then(() => stopping.delete(stopped))
    open = null
  }

  function definitionChanged(): void {
    const version = definitions.get(name)?.version
    if (version === open?.version) return
    stopCache()
    if (version === undefined) {
      onChange(null)
      return
    }
    const path = pathOf({ base: `/apis/${group}/${version}`, plural })
    const selection = { path, metadataOnly: isMetadataOnly }
    const cache = createReflector<T>({
      ...common,
      resource: plural,
      selection,
      trim,
      onChange,
    })
    open = { version, cache }
  }

  const definitions = createReflector<Definition>({
    ...common,
    resource: `definition of ${plural}`,
    selection: { path: pathOf(DEFINITIONS), fieldSelector: `metadata.name=${name}` },
    onChange: definitionChanged,
    trim: (object) => ({ ...identityOf(object), version: storedVersion(object as FullDefinition) }),
  })

  return {
    /** Informer cache; null while the resource does not exist. */
    cache: () => open?.cache ?? null,
    /** True when the objects are known: the cache is filled, or the resource does not exist. */
    isKnown: () => definitions.isSynced() && open?.cache.isSynced() !== false,
    async stop() {
      await definitions.stop()
      stopCache()
      await Promise.all(stopping)
    },
  }
}

function storedVersion({ spec }: FullDefinition): string {
  return spec.versions.find(({ storage }) => storage)?.name ?? ''
}
