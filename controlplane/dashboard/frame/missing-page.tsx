import { Anchor } from '@mantine/core'
import { EmptyState } from '../components/layout/empty-state.tsx'
import { PageHead } from '../components/layout/page-head.tsx'
import { hrefOf } from '../routing/page-location.ts'

/** Renders a notice for an address that does not belong to any page. */
export function MissingPage() {
  return (
    <>
      <PageHead title="Page not found" />
      <EmptyState icon="search" title="No page has this address">
        The link may be incomplete, or belong to another version.{' '}
        <Anchor inherit underline="always" href={hrefOf('')}>
          Start page
        </Anchor>
      </EmptyState>
    </>
  )
}
