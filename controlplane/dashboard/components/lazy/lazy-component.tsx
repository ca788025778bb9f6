import { type ComponentType, type ReactNode, useEffect, useState } from 'react'
import { importWithRetry } from './import-with-retry.ts'

/** A component of another chunk. `preload` is only a head start: whoever shows it asks again and says what is wrong. */
export type LazyComponent<P extends object> = ComponentType<P> & { readonly preload: () => void }

type State<P extends object> = { readonly Found: ComponentType<P> | null; readonly error: unknown }

/**
 * Fetched when it is first shown; until then the given outline, or nothing. Not React's own `lazy`: what waits for
 * that is held back by 300 ms after its outline was shown, also when it has long been there.
 */
export function lazyComponent<P extends object>(
  load: () => Promise<ComponentType<P>>,
  outline: ReactNode = null,
): LazyComponent<P> {
  let known: ComponentType<P> | null = null
  const fetched = async () => {
    known ??= await importWithRetry(load)
    return known
  }
  function Lazy(props: P) {
    const [{ Found, error }, setState] = useState<State<P>>({ Found: known, error: null })
    useEffect(() => {
      let isGone = false
      const show = (state: State<P>) => (isGone ? undefined : setState(state))
      if (known === null)
        fetched().then(
          (component) => show({ Found: component, error: null }),
          (failure: unknown) => show({ Found: null, error: failure }),
        )
      return () => {
        isGone = true
      }
    }, [])
    if (error !== null) throw error
    return Found === null ? outline : <Found {...props} />
  }
  const preload = () => {
    fetched().catch(() => undefined)
  }
  return Object.assign(Lazy, { preload })
}
