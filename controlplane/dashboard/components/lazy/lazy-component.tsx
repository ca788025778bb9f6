import { type ComponentType, type ReactNode, useEffect, useState } from 'react'
import { importWithRetry } from './import-with-retry.ts'

/**
 * Component whose code is in another chunk. `preload` loads the chunk and ignores errors, because rendering loads the
 * chunk again and throws.
 */
export type LazyComponent<P extends object> = ComponentType<P> & { readonly preload: () => void }

type State<P extends object> = { readonly Found: ComponentType<P> | null; readonly error: unknown }

/**
 * Loads a component when it is first rendered and renders the fallback until then. This function replaces `React.lazy`,
 * because React keeps the fallback of a suspended component for at least 300 ms.
 */
export function lazyComponent<P extends object>(
  load: () => Promise<ComponentType<P>>,
  fallback: ReactNode = null,
): LazyComponent<P> {
  let known: ComponentType<P> | null = null
  const fetched = async () => {
    known ??= await importWithRetry(load)
    return known
  }
  function Lazy(props: P) {
    const [{ Found, error }, setState] = useState<State<P>>({ Found: known, error: null })
    useEffect(() => {
      let isUnmounted = false
      const show = (state: State<P>) => (isUnmounted ? undefined : setState(state))
      if (known === null)
        fetched().then(
          (component) => show({ Found: component, error: null }),
          (failure: unknown) => show({ Found: null, error: failure }),
        )
      return () => {
        isUnmounted = true
      }
    }, [])
    if (error !== null) throw error
    return Found === null ? fallback : <Found {...props} />
  }
  const preload = () => {
    fetched().catch(() => undefined)
  }
  return Object.assign(Lazy, { preload })
}
