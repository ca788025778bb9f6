import { type ComponentType, lazy, type ReactNode, Suspense } from 'react'
import { patientImport } from './patient-import.ts'

/** A component of its own chunk, fetched when it is first shown; until then the given outline, or nothing. */
export function lazily<P extends object>(
  load: () => Promise<ComponentType<P>>,
  outline: ReactNode = null,
): ComponentType<P> {
  const Late = lazy(async () => ({ default: await patientImport(load) }))
  return function Lazily(props: P) {
    return (
      <Suspense fallback={outline}>
        <Late {...props} />
      </Suspense>
    )
  }
}
