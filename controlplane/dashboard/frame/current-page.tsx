import { Component, lazy, type ReactNode, Suspense, useMemo } from 'react'
import { asApiError } from '../api/api-error.ts'
import type { PageEntry } from '../pages/table.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Outline } from '../parts/loading.tsx'
import { patientImport } from '../parts/patient-import.ts'

/** The page of the table, loaded when it is first wanted. */
export function CurrentPage({ entry }: { readonly entry: PageEntry }) {
  const Page = useMemo(() => lazy(async () => ({ default: (await patientImport(entry.load)).Page })), [entry])
  return (
    <PageBoundary>
      <Suspense fallback={<Outline />}>
        <Page />
      </Suspense>
    </PageBoundary>
  )
}

type State = { readonly error: unknown }

/** A page that breaks says so; the frame with its stop button stays. React knows no other form of this. */
class PageBoundary extends Component<{ readonly children: ReactNode }, State> {
  override readonly state: State = { error: null }

  static getDerivedStateFromError(error: unknown): State {
    return { error }
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children
    return (
      <ErrorNote
        title="This page could not be shown"
        error={asApiError(this.state.error)}
        onRetry={() => location.reload()}
      />
    )
  }
}
