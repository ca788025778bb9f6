/** Catalogue rows for subscriptions, invoices, quotes, discounts, credit, meters and tax. */
export const BILLING = `
  GET    /v1/billing/alerts                             billing_alert.list                      read  low
  POST   /v1/billing/alerts                             billing_alert.create                    write medium
  GET    /v1/billing/alerts/{id}                        billing_alert.get                       read  low
  POST   /v1/billing/alerts/{id}/activate               billing_alert.activate                  write medium
  POST   /v1/billing/alerts/{id}/archive                billing_alert.archive                   write medium
  POST   /v1/billing/alerts/{id}/deactivate             billing_alert.deactivate                write medium
  GET    /v1/billing/credit_balance_summary             billing_credit_balance.get_summary      read  low
  GET    /v1/billing/credit_balance_transactions        billing_credit_balance_transaction.list read  low
  GET    /v1/billing/credit_balance_transactions/{id}   billing_credit_balance_transaction.get  read  low
  GET    /v1/billing/credit_grants                      billing_credit_grant.list               read  low
  POST   /v1/billing/credit_grants                      billing_credit_grant.create             write high   amount,customer +financial_impact
  GET    /v1/billing/credit_grants/{id}                 billing_credit_grant.get                read  low
  POST   /v1/billing/credit_grants/{id}                 billing_credit_grant.update             write high
  POST   /v1/billing/credit_grants/{id}/expire          billing_credit_grant.expire             write high   +financial_impact
  POST   /v1/billing/credit_grants/{id}/void            billing_credit_grant.void               write high   +financial_impact
  GET    /v1/billing/feedback_options                   billing_feedback_option.list            read  low
  POST   /v1/billing/feedback_options                   billing_feedback_option.create          write medium
  GET    /v1/billing/feedback_options/{id}              billing_feedback_option.get             read  low
  POST   /v1/billing/feedback_options/{id}              billing_feedback_option.update          write medium
  POST   /v1/billing/feedback_options/{id}/deactivate   billing_feedback_option.deactivate      write medium
  POST   /v1/billing/meter_event_adjustments            billing_meter_event_adjustment.create   write high   event_name
  POST   /v1/billing/meter_events                       billing_meter_event.create              write medium event_name
  GET    /v1/billing/meters                             billing_meter.list                      read  low
  POST   /v1/billing/meters                             billing_meter.create                    write medium
  GET    /v1/billing/meters/{id}                        billing_meter.get                       read  low
  POST   /v1/billing/meters/{id}                        billing_meter.update                    write medium
  POST   /v1/billing/meters/{id}/deactivate             billing_meter.deactivate                write medium
  GET    /v1/billing/meters/{id}/event_summaries        billing_meter_event_summary.list        read  low
  POST   /v1/billing/meters/{id}/reactivate             billing_meter.reactivate                write medium
  GET    /v1/billing_portal/configurations              billing_portal_configuration.list       read  low
  POST   /v1/billing_portal/configurations              billing_portal_configuration.create     write medium
  GET    /v1/billing_portal/configurations/{id}         billing_portal_configuration.get        read  low
  POST   /v1/billing_portal/configurations/{id}         billing_portal_configuration.update     write medium
  POST   /v1/billing_portal/sessions                    billing_portal_session.create           write high   customer
  POST   /v1/checkout/sessions/{id}                     checkout_session.update                 write medium
  GET    /v1/checkout/sessions/{id}/line_items          checkout_session.list_lines             read  low
  GET    /v1/climate/products                           climate_product.list                    read  low
  GET    /v1/climate/products/{id}                      climate_product.get                     read  low
  GET    /v1/coupons                                    coupon.list                             read  low
  POST   /v1/coupons                                    coupon.create                           write high   percent_off,amount_off,currency,duration +financial_impact
  GET    /v1/coupons/{id}                               coupon.get                              read  low
  POST   /v1/coupons/{id}                               coupon.update                           write medium name
  DELETE /v1/coupons/{id}                               coupon.delete                           write high
  GET    /v1/credit_notes                               credit_note.list                        read  low
  POST   /v1/credit_notes                               credit_note.create                      write high   invoice,amount,refund_amount +financial_impact
  GET    /v1/credit_notes/preview                       credit_note.preview                     read  low
  GET    /v1/credit_notes/preview/lines                 credit_note.list_preview_lines          read  low
  GET    /v1/credit_notes/{id}                          credit_note.get                         read  low
  POST   /v1/credit_notes/{id}                          credit_note.update                      write medium
  GET    /v1/credit_notes/{id}/lines                    credit_note.list_lines                  read  low
  POST   /v1/credit_notes/{id}/void                     credit_note.void                        write high   +financial_impact
  DELETE /v1/customers/{id}/discount                    customer.delete_discount                write high   +financial_impact
  GET    /v1/customers/{id}/tax_ids                     tax_id.list                             read  low
  POST   /v1/customers/{id}/tax_ids                     tax_id.create                           write medium type,value
  GET    /v1/customers/{customer_id}/tax_ids/{id}       tax_id.get                              read  low
  DELETE /v1/customers/{customer_id}/tax_ids/{id}       tax_id.delete                           write high
  GET    /v1/entitlements/active_entitlements           active_entitlement.list                 read  low
  GET    /v1/entitlements/active_entitlements/{id}      active_entitlement.get                  read  low
  GET    /v1/entitlements/features                      entitlement_feature.list                read  low
  POST   /v1/entitlements/features                      entitlement_feature.create              write medium
  GET    /v1/entitlements/features/{id}                 entitlement_feature.get                 read  low
  POST   /v1/entitlements/features/{id}                 entitlement_feature.update              write medium
  GET    /v1/invoice_payments                           invoice_payment.list                    read  low
  GET    /v1/invoice_payments/{id}                      invoice_payment.get                     read  low
  GET    /v1/invoice_rendering_templates                invoice_rendering_template.list         read  low
  GET    /v1/invoice_rendering_templates/{id}           invoice_rendering_template.get          read  low
  POST   /v1/invoice_rendering_templates/{id}/archive   invoice_rendering_template.archive      write medium
  POST   /v1/invoice_rendering_templates/{id}/unarchive invoice_rendering_template.unarchive    write medium
  GET    /v1/invoiceitems                               invoice_item.list                       read  low
  POST   /v1/invoiceitems                               invoice_item.create                     write high   amount,currency,customer +financial_impact
  GET    /v1/invoiceitems/{id}                          invoice_item.get                        read  low
  POST   /v1/invoiceitems/{id}                          invoice_item.update                     write high   amount +financial_impact
  DELETE /v1/invoiceitems/{id}                          invoice_item.delete                     write high
  POST   /v1/invoices/{id}/add_lines                    invoice.add_lines                       write medium lines
  POST   /v1/invoices/{id}/attach_payment               invoice.attach_payment                  write high   payment_intent +financial_impact
  POST   /v1/invoices/{invoice_id}/lines/{id}           invoice.update_line                     write medium amount
  POST   /v1/invoices/{id}/remove_lines                 invoice.remove_lines                    write medium lines
  POST   /v1/invoices/{id}/update_lines                 invoice.update_lines                    write medium lines
  GET    /v1/payment_links                              payment_link.list                       read  low
  POST   /v1/payment_links                              payment_link.create                     write high   line_items
  GET    /v1/payment_links/{id}                         payment_link.get                        read  low
  POST   /v1/payment_links/{id}                         payment_link.update                     write high   active
  GET    /v1/payment_links/{id}/line_items              payment_link.list_lines                 read  low
  GET    /v1/plans                                      plan.list                               read  low
  POST   /v1/plans                                      plan.create                             write medium amount,currency,interval,product
  GET    /v1/plans/{id}                                 plan.get                                read  low
  POST   /v1/plans/{id}                                 plan.update                             write medium
  DELETE /v1/plans/{id}                                 plan.delete                             write high
  GET    /v1/product_catalog/trial_offers               trial_offer.list                        read  low
  POST   /v1/product_catalog/trial_offers               trial_offer.create                      write medium
  GET    /v1/product_catalog/trial_offers/{id}          trial_offer.get                         read  low
  POST   /v1/product_catalog/trial_offers/{id}          trial_offer.update                      write medium
  GET    /v1/products/{id}/features                     product_feature.list                    read  low
  POST   /v1/products/{id}/features                     product_feature.create                  write medium
  GET    /v1/products/{product_id}/features/{id}        product_feature.get                     read  low
  DELETE /v1/products/{product_id}/features/{id}        product_feature.delete                  write high
  GET    /v1/promotion_codes                            promotion_code.list                     read  low
  POST   /v1/promotion_codes                            promotion_code.create                   write high   coupon,code +financial_impact
  GET    /v1/promotion_codes/{id}                       promotion_code.get                      read  low
  POST   /v1/promotion_codes/{id}                       promotion_code.update                   write medium
  GET    /v1/quotes                                     quote.list                              read  low
  POST   /v1/quotes                                     quote.create                            write medium customer
  GET    /v1/quotes/{id}                                quote.get                               read  low
  POST   /v1/quotes/{id}                                quote.update                            write medium
  POST   /v1/quotes/{id}/accept                         quote.accept                            write high   +financial_impact
  POST   /v1/quotes/{id}/cancel                         quote.cancel                            write medium
  GET    /v1/quotes/{id}/computed_upfront_line_items    quote.list_upfront_lines                read  low
  POST   /v1/quotes/{id}/finalize                       quote.finalize                          write medium
  GET    /v1/quotes/{id}/line_items                     quote.list_lines                        read  low
  GET    /v1/quotes/{id}/pdf                            quote.download                          read  low
  GET    /v1/shipping_rates                             shipping_rate.list                      read  low
  POST   /v1/shipping_rates                             shipping_rate.create                    write medium
  GET    /v1/shipping_rates/{id}                        shipping_rate.get                       read  low
  POST   /v1/shipping_rates/{id}                        shipping_rate.update                    write medium
  GET    /v1/subscription_items                         subscription_item.list                  read  low
  POST   /v1/subscription_items                         subscription_item.create                write high   subscription,price,quantity +financial_impact
  GET    /v1/subscription_items/{id}                    subscription_item.get                   read  low
  POST   /v1/subscription_items/{id}                    subscription_item.update                write high   price,quantity +financial_impact
  DELETE /v1/subscription_items/{id}                    subscription_item.delete                write high   +financial_impact
  GET    /v1/subscription_schedules                     subscription_schedule.list              read  low
  POST   /v1/subscription_schedules                     subscription_schedule.create            write high   customer,phases +financial_impact
  GET    /v1/subscription_schedules/{id}                subscription_schedule.get               read  low
  POST   /v1/subscription_schedules/{id}                subscription_schedule.update            write high   phases +financial_impact
  POST   /v1/subscription_schedules/{id}/cancel         subscription_schedule.cancel            write medium
  POST   /v1/subscription_schedules/{id}/release        subscription_schedule.release           write medium
  DELETE /v1/subscriptions/{id}/discount                subscription.delete_discount            write high   +financial_impact
  POST   /v1/subscriptions/{id}/migrate                 subscription.migrate                    write medium
  POST   /v1/subscriptions/{id}/pause                   subscription.pause                      write medium
  GET    /v1/tax/associations/find                      tax_association.find                    read  low
  POST   /v1/tax/calculations                           tax_calculation.create                  write low    currency,line_items
  GET    /v1/tax/calculations/{id}                      tax_calculation.get                     read  low
  GET    /v1/tax/calculations/{id}/line_items           tax_calculation.list_lines              read  low
  GET    /v1/tax/locations                              tax_location.list                       read  low
  POST   /v1/tax/locations                              tax_location.create                     write medium
  GET    /v1/tax/locations/{id}                         tax_location.get                        read  low
  GET    /v1/tax/registrations                          tax_registration.list                   read  low
  POST   /v1/tax/registrations                          tax_registration.create                 write high   country
  GET    /v1/tax/registrations/{id}                     tax_registration.get                    read  low
  POST   /v1/tax/registrations/{id}                     tax_registration.update                 write medium
  GET    /v1/tax/settings                               tax_setting.get                         read  low
  POST   /v1/tax/settings                               tax_setting.update                      write high
  POST   /v1/tax/transactions/create_from_calculation   tax_transaction.create                  write medium calculation,reference
  POST   /v1/tax/transactions/create_reversal           tax_transaction.reverse                 write high   mode,original_transaction
  GET    /v1/tax/transactions/{id}                      tax_transaction.get                     read  low
  GET    /v1/tax/transactions/{id}/line_items           tax_transaction.list_lines              read  low
  GET    /v1/tax_codes                                  tax_code.list                           read  low
  GET    /v1/tax_codes/{id}                             tax_code.get                            read  low
  GET    /v1/tax_ids                                    tax_id.list                             read  low
  POST   /v1/tax_ids                                    tax_id.create                           write medium type,value @same
  GET    /v1/tax_ids/{id}                               tax_id.get                              read  low
  DELETE /v1/tax_ids/{id}                               tax_id.delete                           write high   @same
  GET    /v1/tax_rates                                  tax_rate.list                           read  low
  POST   /v1/tax_rates                                  tax_rate.create                         write medium percentage,display_name
  GET    /v1/tax_rates/{id}                             tax_rate.get                            read  low
  POST   /v1/tax_rates/{id}                             tax_rate.update                         write medium
  POST   /v2/billing/meter_event_adjustments            billing_meter_event_adjustment.create   write high   event_name @same
  POST   /v2/billing/meter_event_session                billing_meter_event.create_session      write high
  POST   /v2/billing/meter_event_stream                 billing_meter_event.stream              write medium events
  POST   /v2/billing/meter_events                       billing_meter_event.create              write medium event_name @same
  GET    /v2/commerce/product_catalog/imports           catalog_import.list                     read  low
  POST   /v2/commerce/product_catalog/imports           catalog_import.create                   write medium
  GET    /v2/commerce/product_catalog/imports/{id}      catalog_import.get                      read  low
`
