import { Skeleton, Stack, VisuallyHidden } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Resource } from '../../live/use-resource.ts'
import { ErrorNote } from './error-note.tsx'

/**
 * Renders the data of a resource. Renders a skeleton before the first reply, and the error of a failed
 * request. Every request has a time limit, so the skeleton is always replaced.
 */
export function Loaded<T>(props: { readonly of: Resource<T>; readonly children: (data: T) => ReactNode }) {
  const { data, error, reload } = props.of
  return (
    <>
      {error === null ? null : <ErrorNote error={error} onRetry={reload} />}
      {data !== null ? props.children(data) : error === null ? <LoadingSkeleton /> : null}
    </>
  )
}

export function LoadingSkeleton() {
  return (
    <Stack gap="sm" aria-busy="true">
      <VisuallyHidden>Loading</VisuallyHidden>
      <Skeleton height={28} width="40%" />
      <Skeleton height={72} />
      <Skeleton height={72} />
    </Stack>
  )
}
