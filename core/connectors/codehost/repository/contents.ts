/** Catalogue rows for files, branches, commits and the git database. */
export const CONTENTS = `
  GET    /repos/{owner}/{repo}/contents                                file.get                   read  low    ref contents:read
  GET    /repos/{owner}/{repo}/contents/                               file.get                   read  low    ref contents:read
  GET    /repos/{owner}/{repo}/contents/{path+}                        file.get                   read  low    ref contents:read
  PUT    /repos/{owner}/{repo}/contents/{path+}                        file.update                write low    ?sha:string message,branch,sha contents:write,workflows:write
  PUT    /repos/{owner}/{repo}/contents/{path+}                        file.create                write low    ?!sha message,branch contents:write,workflows:write
  DELETE /repos/{owner}/{repo}/contents/{path+}                        file.delete                write medium message,branch,sha contents:write,workflows:write
  GET    /repos/{owner}/{repo}/readme                                  file.get_readme            read  low    ref contents:read
  GET    /repos/{owner}/{repo}/readme/{dir+}                           file.get_readme            read  low    ref contents:read
  GET    /repos/{owner}/{repo}/tarball                                 repo.download              read  low contents:read
  GET    /repos/{owner}/{repo}/tarball/{ref+}                          repo.download              read  low contents:read
  GET    /repos/{owner}/{repo}/zipball                                 repo.download              read  low contents:read
  GET    /repos/{owner}/{repo}/zipball/{ref+}                          repo.download              read  low contents:read

  GET    /repos/{owner}/{repo}/branches                                branch.list                read  low contents:read
  GET    /repos/{owner}/{repo}/branches/{branch/}                      branch.get                 read  low contents:read
  POST   /repos/{owner}/{repo}/branches/{branch/}/rename               branch.rename              write medium new_name contents:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection           branch_protection.get      read  low administration:read
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection           branch_protection.update   write high administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection           branch_protection.delete   write high administration:write
  POST   /repos/{owner}/{repo}/merges                                  branch.merge               write medium base,head,commit_message contents:write
  POST   /repos/{owner}/{repo}/merge-upstream                          branch.sync_upstream       write medium branch contents:write
  GET    /repos/{owner}/{repo}/rules/branches/{branch/}                branch.list_rules          read  low metadata:read

  POST   /repos/{owner}/{repo}/git/refs                                branch.create              write low    ref,sha contents:write,workflows:write
  PATCH  /repos/{owner}/{repo}/git/refs/{ref+}                         branch.update              write medium sha,force contents:write,workflows:write
  DELETE /repos/{owner}/{repo}/git/refs/{ref+}                         branch.delete              write high   +irreversible contents:write
  GET    /repos/{owner}/{repo}/git/ref/{ref+}                          git_ref.get                read  low contents:read
  GET    /repos/{owner}/{repo}/git/matching-refs/{ref+}                git_ref.list               read  low contents:read
  POST   /repos/{owner}/{repo}/git/blobs                               git_blob.create            write low contents:write
  GET    /repos/{owner}/{repo}/git/blobs/{file_sha}                    git_blob.get               read  low contents:read
  POST   /repos/{owner}/{repo}/git/commits                             git_commit.create          write low    message,tree,parents contents:write
  GET    /repos/{owner}/{repo}/git/commits/{commit_sha}                git_commit.get             read  low contents:read
  POST   /repos/{owner}/{repo}/git/tags                                git_tag.create             write low    tag,message,object contents:write
  GET    /repos/{owner}/{repo}/git/tags/{tag_sha}                      git_tag.get                read  low contents:read
  POST   /repos/{owner}/{repo}/git/trees                               git_tree.create            write low    base_tree,tree contents:write
  GET    /repos/{owner}/{repo}/git/trees/{tree_sha/}                   git_tree.get               read  low contents:read

  GET    /repos/{owner}/{repo}/commits                                 commit.list                read  low    sha,path contents:read
  GET    /repos/{owner}/{repo}/commits/{ref/}                          commit.get                 read  low contents:read
  GET    /repos/{owner}/{repo}/commits/{ref/}/status                   commit_status.get_combined read  low statuses:read
  GET    /repos/{owner}/{repo}/commits/{ref/}/statuses                 commit_status.list         read  low statuses:read
  POST   /repos/{owner}/{repo}/statuses/{sha}                          commit_status.create       write low    state,context,description statuses:write
  GET    /repos/{owner}/{repo}/commits/{ref/}/check-runs               check_run.list             read  low checks:read
  GET    /repos/{owner}/{repo}/commits/{ref/}/check-suites             check_suite.list           read  low checks:read
  GET    /repos/{owner}/{repo}/commits/{commit_sha}/pulls              commit.list_prs            read  low pull_requests:read
  GET    /repos/{owner}/{repo}/commits/{commit_sha}/branches-where-head  commit.list_branches     read  low contents:read
  GET    /repos/{owner}/{repo}/compare/{basehead/}                     commit.compare             read  low contents:read
  GET    /repos/{owner}/{repo}/commits/{commit_sha}/comments           commit_comment.list        read  low metadata:read
  POST   /repos/{owner}/{repo}/commits/{commit_sha}/comments           commit_comment.create      write low    body,path contents:read
  GET    /repos/{owner}/{repo}/comments                                commit_comment.list_in_repo  read low metadata:read
  GET    /repos/{owner}/{repo}/comments/{comment_id}                   commit_comment.get         read  low metadata:read
  PATCH  /repos/{owner}/{repo}/comments/{comment_id}                   commit_comment.update      write low    body contents:write
  DELETE /repos/{owner}/{repo}/comments/{comment_id}                   commit_comment.delete      write medium contents:write
  POST   /repos/{owner}/{repo}/check-runs                              check_run.create           write low    name,head_sha,status,conclusion checks:write
  GET    /repos/{owner}/{repo}/check-runs/{check_run_id}               check_run.get              read  low checks:read
  PATCH  /repos/{owner}/{repo}/check-runs/{check_run_id}               check_run.update           write low    status,conclusion checks:write
`
