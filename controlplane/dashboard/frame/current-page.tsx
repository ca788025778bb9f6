import { Component, type ReactNode } from 'react'
import { asApiError } from '../api/api-error.ts'
import { ErrorNote } from '../components/layout/error-note.tsx'
import type { PageEntry } from '../pages/page-list.tsx'

export function CurrentPage({ entry: { Page } }: { readonly entry: PageEntry }) {
  return (
    <PageBoundary>
      <Page />
    </PageBoundary>
  )
}

type State = { readonly error: unknown }

/**
 * Shows the error of a page that fails to render and keeps the frame with the kill switch. React requires a class for
 * an error boundary.
 */
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
