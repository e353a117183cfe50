//! The generated twins of the domain types, and the calls; converted only in [`crate::convert`].

#![allow(clippy::all, missing_docs)]

tonic::include_proto!("antipode.v1");
